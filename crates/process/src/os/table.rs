//! The table of processes, as `/proc` shows it. Where there is none (macOS, the BSDs) it reads as empty, and killing falls
//! back to process groups.

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    start_time: u64,
    /// Dead, but not yet reaped by its parent.
    zombie: bool,
}

/// Reads the text of `/proc/<pid>/stat`. The program's name stands in parentheses and may hold anything, so the fields are
/// counted from the last one.
fn parse(stat: &str) -> Option<Row> {
    let (pid, _) = stat.split_once(" (")?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
    Some(Row {
        pid: pid.trim().parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        start_time: fields.get(19)?.parse().ok()?,
    })
}

fn row(pid: i32) -> Option<Row> {
    parse(&String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/stat")).ok()?))
}

/// All processes that are there.
fn rows() -> Vec<Row> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| row(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The children of `parent` that have not ended. Asks the kernel for just these where it can tell: whoever chases processes
/// that fork must be quicker than a walk through the whole table.
pub(crate) fn children(parent: i32) -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{parent}/task")) else { return Vec::new() };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(list) => found.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
            // The thread has gone, or this kernel keeps no such list.
            Err(_) if thread.path().join("stat").exists() => {
                return rows()
                    .into_iter()
                    .filter(|row| row.parent == parent && !row.zombie)
                    .map(|row| row.pid)
                    .collect();
            }
            Err(_) => {}
        }
    }
    found
}

/// Whether `pid` is there and has not ended.
pub(crate) fn runs(pid: i32) -> bool {
    row(pid).is_some_and(|row| !row.zombie)
}

/// When `pid` started, in ticks since the machine did; joins a pid to one process.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    row(i32::try_from(pid).ok()?).map(|row| row.start_time)
}

/// Whether `pid` lives and is the process that started at `start_time`.
pub(crate) fn alive(pid: u32, start_time: u64) -> bool {
    i32::try_from(pid).ok().and_then(row).is_some_and(|row| row.start_time == start_time && !row.zombie)
}

/// The session that `pid` belongs to.
pub(crate) fn session_of(pid: u32) -> Option<i32> {
    row(i32::try_from(pid).ok()?).map(|row| row.session)
}

/// The members of a group whose leader is gone, or dead and not reaped. A group's number is not given away while it has members, so with the
/// session they are the leader's own.
pub(crate) fn leftover_group(leader: u32, session: Option<i32>) -> Vec<u32> {
    let Ok(leader) = i32::try_from(leader) else { return Vec::new() };
    let rows = rows();
    if rows.iter().any(|row| row.pid == leader && !row.zombie) {
        return Vec::new();
    }
    rows.iter()
        .filter(|row| row.group == leader && Some(row.session) == session && !row.zombie)
        .filter_map(|row| u32::try_from(row.pid).ok())
        .collect()
}

/// Names this run of the machine; pids and start times mean nothing beyond it.
pub(crate) fn boot_id() -> Option<String> {
    Some(std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_parentheses_do_not_shift_the_fields() {
        let stat = "42 (a) b) (c) S 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 10 20";
        assert_eq!(
            parse(stat),
            Some(Row { pid: 42, parent: 7, group: 8, session: 9, start_time: 12345, zombie: false })
        );
        assert_eq!(parse("42 (x) Z 7 8"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn children_are_found() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("sleep");
        let own = i32::try_from(std::process::id()).expect("a pid");
        let pid = i32::try_from(child.id()).expect("a pid");
        assert!(children(own).contains(&pid));
        assert!(rows().iter().any(|row| row.pid == pid && row.parent == own));
        assert!(runs(pid) && alive(child.id(), start_time(child.id()).expect("a time")));
        child.kill().expect("killed");
        child.wait().expect("reaped");
        assert!(!children(own).contains(&pid) && !runs(pid));
    }
}
