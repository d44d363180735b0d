//! Extensions in TypeScript and JavaScript, found by pi's own rules: scripts and packages in its directories, in the
//! settings, and among what it installed. Nothing is run and no script is parsed.

mod entries;
mod ignored;
mod lower;
mod package;
mod patterns;
mod places;
mod reach;
mod settings;

pub(crate) use lower::keep_apart;
pub use package::{Own, PACKAGE_JSON, own_table};
pub use places::{
    RECORD, Scan, agent_dir, entry_of, in_package_dir, installed_package, lists_extensions, named_by_flag,
    package_name, scan,
};
pub use reach::{is_script, reached};
pub use settings::npm_name;

#[cfg(test)]
mod tests;
