(** What the theorems rest on: [check] wants the answer to each to be that it is closed under the global context. *)
From Bundl Require Import Syntax Typing Step Safety Erase Units Pair Uniform Check Examples.
From Bundl Require Skeleton Ordered Valid Valid_sound Signals Rings Phases Rings_sound Registers Skeleton_examples Apart_sound.

Print Assumptions step_safe.
Print Assumptions progress.
Print Assumptions preservation.
Print Assumptions safety.
Print Assumptions shared_memory.
Print Assumptions erasure.
Print Assumptions eval_uniform.
Print Assumptions step_keeps.
Print Assumptions uniformity.
Print Assumptions uniform_event.
Print Assumptions uniform_end.
Print Assumptions check_sound.
Print Assumptions check_complete.
Print Assumptions check_program_sound.
Print Assumptions good_safe.
Print Assumptions good_runs.
Print Assumptions good_uniform.
Print Assumptions calls_run.
Print Assumptions calls_uniform.
Print Assumptions Phases.no_deadlock.
Print Assumptions Phases.runs_end.
Print Assumptions Phases.no_mixture.
Print Assumptions Rings_sound.no_race.
Print Assumptions Rings_sound.nothing_in_flight.
Print Assumptions Valid_sound.project_same.
Print Assumptions Skeleton_examples.exchange_valid.
Print Assumptions Skeleton_examples.exchange_races.
Print Assumptions Skeleton_examples.hang_refused.
Print Assumptions Skeleton_examples.hang_hangs.
Print Assumptions Skeleton_examples.ring_valid.
Print Assumptions Skeleton_examples.ring_refused.
Print Assumptions Skeleton_examples.late_valid.
Print Assumptions Registers.registers_waited.
Print Assumptions Signals.progress.
Print Assumptions Signals.run_bounded.
Print Assumptions Signals.ordered.
Print Assumptions Signals.start_ok.
Print Assumptions Signals.ok_run.
Print Assumptions Examples.two_arrays_checks.
Print Assumptions Examples.two_arrays_uniform.
Print Assumptions Apart_sound.argued_sound.
Print Assumptions Apart_sound.witnessed_ok.
Print Assumptions Apart_sound.proves_sound.
