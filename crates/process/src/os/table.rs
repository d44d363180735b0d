//! The table of processes, as `/proc` shows it. Where there is none (macOS, the BSDs) it reads as empty, and killing falls
//! back to process groups.

use std::collections::{HashMap, HashSet};

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    pub(crate) start_time: u64,
    /// Dead, but not yet reaped by its parent.
    pub(crate) zombie: bool,
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
pub(crate) fn rows() -> Vec<Row> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| row(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The living descendants of `root` in `rows`, without `root` itself.
pub(crate) fn descendants(rows: &[Row], root: i32) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<&Row>> = HashMap::new();
    for row in rows {
        children.entry(row.parent).or_default().push(row);
    }
    let mut seen = HashSet::from([root]);
    let mut queue = vec![root];
    let mut found = Vec::new();
    while let Some(parent) = queue.pop() {
        for row in children.get(&parent).into_iter().flatten() {
            if seen.insert(row.pid) {
                queue.push(row.pid);
                if !row.zombie {
                    found.push(row.pid);
                }
            }
        }
    }
    found
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

/// The members of a group whose leader is gone. A group's number is not given away while it has members, so with the
/// session they are the leader's own.
pub(crate) fn leftover_group(leader: u32, start_time: u64, session: Option<i32>) -> Vec<u32> {
    let Ok(leader) = i32::try_from(leader) else { return Vec::new() };
    let rows = rows();
    // A dead leader that nobody has reaped yet is still the leader; anyone else of its number is a stranger.
    if rows.iter().any(|row| row.pid == leader && !(row.zombie && row.start_time == start_time)) {
        return Vec::new();
    }
    rows.iter()
        .filter(|row| row.group == leader && Some(row.session) == session && !row.zombie)
        .filter_map(|row| u32::try_from(row.pid).ok())
        .collect()
}

/// The living members of a group.
pub(crate) fn group(leader: u32) -> Vec<u32> {
    let members = rows().into_iter().filter(|row| u32::try_from(row.group) == Ok(leader) && !row.zombie);
    members.filter_map(|row| u32::try_from(row.pid).ok()).collect()
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
    fn descendants_survive_cycles_and_skip_the_dead() {
        let row = |pid, parent, zombie| Row { pid, parent, group: 0, session: 0, start_time: 0, zombie };
        let rows =
            [row(2, 1, false), row(3, 2, true), row(4, 3, false), row(5, 5, false), row(6, 9, false), row(1, 4, false)];
        let mut found = descendants(&rows, 1);
        found.sort_unstable();
        assert_eq!(found, [2, 4]);
    }
}
