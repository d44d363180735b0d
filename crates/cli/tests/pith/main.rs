//! The cases that pith's own tests and documents ask for, with the documented outcome, through the built binary. Where each is:
//!
//! | case | test |
//! |---|---|
//! | 1 a file is a tool | `python/tools.rs::a_file_is_a_tool` |
//! | 2 a channel without `send` | `python/channels.rs::a_channel_without_its_functions_is_reported` |
//! | 3 `MCP__` is reserved | `python/tools.rs::names_that_collide_or_are_none_stay_callable` |
//! | 4 the host's own tools | `case_04_…` here |
//! | 5 paths that lead out | `case_05_…` here; `outside.rs`; `host/src/services/fs/tests.rs` |
//! | 6 `SOUL.md` | none: it is for an agent's prompt, and jackfield has no agent of its own |
//! | 7 `mcp/*.yaml` | `case_07_…` in `servers.rs`; `host/src/discovery/mcp/tests/files.rs`; bombs: `host/src/discovery/yaml.rs` |
//! | 8 secrets | `case_08_…` in `secrets.rs`; `host/src/secrets/tests.rs` |
//! | 9 `/health` | `gateway/door.rs::every_route_but_health_wants_a_token`; sessions: `channels/basics.rs::commands_are_the_host_s_and_sessions_are_the_senders` (compaction is an agent's) |
//! | 10 configuration, a line per event | `case_10_…` here; `ledger.rs::every_call_leaves_a_start_and_an_end` (compaction and memory tags are an agent's) |
//! | 11 new, edited and deleted files | `python/reload.rs::saves_are_live_new_files_appear_and_removed_ones_go`, `python/storm.rs`; of the same size: `case_11_…` here |
//! | 12 a broken file | `python/reload.rs::a_broken_save_keeps_the_old_version_and_says_where`, `python/bad.rs::what_cannot_be_loaded_is_named_with_its_line` |
//! | 13 no `run`, reserved names, collisions | `python/bad.rs::what_cannot_be_loaded_is_named_with_its_line`, `python/tools.rs::names_that_collide_or_are_none_stay_callable` |
//! | 14 hints and schemas | `process/python/tests/test_schema.py`, `python/bad.rs::a_hint_that_nobody_can_resolve_does_not_lose_the_tool` |
//! | 15 results, errors, deaths | `python/tools.rs::results_are_text_json_or_pictures`, `python/bad.rs::exceptions_are_errors_with_their_place`, `python/deaths.rs` |
//! | 16 channels | `python/channels.rs`, `channels/hostile.rs`, `channels/reload.rs`, `channels/basics.rs` |
//!
//! `set_profile` of case 4 is an agent's, too.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

mod rest;
mod secrets;
mod servers;
mod support;
