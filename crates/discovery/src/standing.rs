//! How an extension's standing reads for people and listings, and discovery held to what a flag names.

use std::path::Path;

use crate::{DiscoveryInput, Extent, Found, Origin, Report, Standing, discover};

impl Standing {
    /// The standing's name alone, as listings show it in place of a state.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled { .. } => "disabled",
            Self::Untrusted => "untrusted",
            Self::Changed { .. } => "changed",
            Self::Shadowed { .. } => "shadowed",
            Self::MissingRequirements { .. } => "missing_requirements",
            Self::Unsupported { .. } => "unsupported",
            Self::Invalid { .. } => "invalid",
        }
    }

    /// Why an extension of this standing does not run; nothing for one that may.
    pub fn why_not(&self) -> Option<String> {
        match self {
            Self::Active => None,
            Self::Disabled { reason } => Some(format!("it is switched off: {reason}")),
            Self::Untrusted => Some("its project is not trusted: run `jackfield trust` there".to_owned()),
            Self::Changed { reason } => Some(reason.clone()),
            Self::Shadowed { by } => Some(format!("the one in {} comes first", by.display())),
            Self::MissingRequirements { bins, env } => {
                let programs = bins.iter().map(|name| format!("program {name}"));
                let variables = env.iter().map(|name| format!("variable {name}"));
                let missing: Vec<String> = programs.chain(variables).collect();
                Some(format!("it needs what is not there: {}", missing.join(", ")))
            }
            Self::Unsupported { reason } => Some(reason.clone()),
            Self::Invalid { error } => Some(error.clone()),
        }
    }
}

/// What discovery says of the extensions that are named by a flag, and of nothing else.
pub fn discover_named(input: &DiscoveryInput) -> Report {
    let mut report = discover(input);
    report.extensions.retain(|found| found.origin == Origin::Flag);
    let is_about = |found: &Found, path: &Path| match found.extent {
        Extent::Directory => path.starts_with(&found.dir),
        Extent::Entry => *path == found.manifest_path || *path == found.place(),
    };
    let Report { extensions, diagnostics, .. } = &mut report;
    diagnostics.retain(|diagnostic| extensions.iter().any(|found| is_about(found, &diagnostic.path)));
    report
}
