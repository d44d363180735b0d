//! `grants`, `grant`, `revoke`.

use jackfield_host::{Effect, Grant, Grants, NewGrant};
use jackfield_protocol::{CallError, Capability, ErrorCode, ExtensionId, Power, Scope};
use serde_json::json;

use crate::args::{Global, GrantArgs};
use crate::compose;
use crate::exit;
use crate::output;

fn open(global: &Global) -> anyhow::Result<Grants> {
    let home = compose::home(global)?;
    Grants::open(&home).map_err(|error| CallError::new(ErrorCode::InvalidConfig, error.to_string()).into())
}

pub(crate) fn list(global: &Global) -> anyhow::Result<u8> {
    let grants = open(global)?.list();
    if global.json {
        output::json(&json!({ "grants": grants }))?;
    } else if grants.is_empty() {
        output::line("nothing is granted; extensions ask when they need something")?;
    } else {
        show(&grants)?;
    }
    Ok(exit::FINE)
}

fn show(grants: &[Grant]) -> anyhow::Result<()> {
    let rows: Vec<[String; 5]> = grants.iter().map(row).collect();
    output::table(["ID", "EFFECT", "EXTENSION", "CAPABILITY", "WHERE"], &rows)
}

fn row(grant: &Grant) -> [String; 5] {
    let effect = json!(grant.effect).as_str().unwrap_or_default().to_owned();
    let place = grant.project.as_ref().map_or_else(|| "everywhere".to_owned(), |p| p.display().to_string());
    [grant.id.clone(), effect, grant.extension.to_string(), grant.capability.to_string(), place]
}

pub(crate) fn grant(global: &Global, args: GrantArgs) -> anyhow::Result<u8> {
    let power = power(&args.power)?;
    let extension = ExtensionId::sanitized(&args.extension)
        .ok_or_else(|| CallError::new(ErrorCode::InvalidRequest, format!("{:?} is no extension id", args.extension)))?;
    let home = std::env::var("HOME").unwrap_or_default();
    let paths = args.path.into_iter().map(|path| match path.strip_prefix("~/") {
        Some(rest) if home.starts_with('/') => format!("{}/{rest}", home.trim_end_matches('/')),
        _ => path,
    });
    let scope =
        Scope { paths: paths.collect(), hosts: args.host, env: args.env, tools: args.tool, programs: args.program };
    let capability = Capability { scope, ..Capability::unlimited(power) };
    let effect = if args.deny { Effect::Deny } else { Effect::Allow };
    let project = if args.here { Some(compose::project(global)?) } else { None };
    let grant = open(global)?.add(NewGrant { extension, capability, effect, project })?;
    if global.json {
        output::json(&json!({ "ok": true, "grant": grant }))?;
    } else {
        show(std::slice::from_ref(&grant))?;
    }
    Ok(exit::FINE)
}

pub(crate) fn revoke(global: &Global, what: &str, only: Option<&str>) -> anyhow::Result<u8> {
    let only = only.map(power).transpose()?;
    let revoked = open(global)?.revoke(what, only)?;
    if revoked.is_empty() {
        let message = format!("no grant is called {what:?} or belongs to it (see `jackfield grants`)");
        return Err(CallError::new(ErrorCode::NotFound, message).into());
    }
    if global.json {
        output::json(&json!({ "ok": true, "revoked": revoked }))?;
    } else {
        for grant in &revoked {
            let [id, effect, extension, capability, place] = row(grant);
            output::plain(&format!("revoked {id}: {effect} {extension} {capability} ({place})"))?;
        }
    }
    Ok(exit::FINE)
}

fn power(key: &str) -> anyhow::Result<Power> {
    Power::parse(key).ok_or_else(|| {
        let all: Vec<&str> = Power::ALL.iter().map(|power| power.as_str()).collect();
        CallError::new(ErrorCode::InvalidRequest, format!("{key:?} is no power; the powers are {}", all.join(", ")))
            .into()
    })
}
