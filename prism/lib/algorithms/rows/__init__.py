"""Operations on rows: softmax, normalisation, and operations of the user's own."""
