//! The 22 queries: text, substitution parameters, order in a stream, and what a right answer is.
