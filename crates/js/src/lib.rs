//! What jackfield knows about extensions in TypeScript and JavaScript: today the scanner, which reads an extension's code
//! and says how well it will run here and what it will ask for.
//!
//! It runs nothing, writes nothing, and decides nothing: whoever asks for a scan hands in how files are read, and policy is
//! the host's.

pub mod scan;
