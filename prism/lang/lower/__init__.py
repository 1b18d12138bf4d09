"""From a plan to what is emitted: shared memory laid out, fills issued ahead, a body for each role, named barriers."""
