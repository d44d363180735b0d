//! The whole of discovery against directories that misbehave.

mod formats;
mod hostile;
mod levels;
