//! The cases that pith's own tests and documents ask for, with the documented outcome, through the built binary. Where each is:
//!
//! | case | test |
//! |---|---|
//! | 1 a file is a tool | `python/tools.rs::a_file_is_a_tool` |
//! | 2 a channel without `send` | `python/channels.rs::a_channel_without_its_functions_is_reported` |
//! | 3 `MCP__` is reserved | `python/tools.rs::names_that_collide_or_are_none_stay_callable`, `case_13_…` in `rest.rs` |
//! | 4 the host's own tools, each by itself | `case_04_…` in `rest.rs`; `set_profile` before anything is set up: `workspace.rs::pith_workspace` |
//! | 5 paths that lead out | `case_05_…` in `rest.rs`; `outside.rs`; `host/src/services/fs/tests.rs` |
//! | 6 `SOUL.md`, and none | `case_06_…` in `soul.rs`, `channels/history.rs` and `gateway/mcp.rs`; `host/src/soul.rs` |
//! | 7 `mcp/*.yaml` | `case_07_…` in `servers.rs`; `host/src/discovery/mcp/tests/files.rs`; bombs: `host/src/discovery/yaml.rs` |
//! | 8 secrets | kept, listed, replaced, given: `case_08_…` in `secrets.rs`, `host/src/secrets/tests.rs`; asked for, in time or not, by whom: `case_08_…` in `asking.rs` |
//! | 9 `/health` | `gateway/door.rs::every_route_but_health_wants_a_token` |
//! | 9 sessions: new, info, compact | `channels/history.rs::case_09_sessions_are_begun_described_and_compacted`, `channels/basics.rs::commands_are_the_host_s_and_sessions_are_the_senders` |
//! | 10 `.env` and `${}` | `case_10_…` in `env_files.rs`; the form: `host/src/secrets/dotenv.rs` |
//! | 10 paths from the home, what is missing, a line per event | `case_10_…` in `rest.rs`; `ledger.rs::every_call_leaves_a_start_and_an_end` |
//! | 10 compacting keeps N; tags of memories | `channels/history.rs::case_10_compacting_keeps_fifty`; `workspace.rs::pith_workspace` |
//! | 11 new, edited and deleted files | `python/reload.rs::saves_are_live_new_files_appear_and_removed_ones_go`, `python/storm.rs`; of the same size: `case_11_…` in `rest.rs` |
//! | 12 a broken file, also at boot | `case_12_…` in `rest.rs`; `python/reload.rs::a_broken_save_keeps_the_old_version_and_says_where`, `python/bad.rs::what_cannot_be_loaded_is_named_with_its_line` |
//! | 13 no `run`, reserved names, collisions | `python/bad.rs::what_cannot_be_loaded_is_named_with_its_line`, `python/tools.rs::names_that_collide_or_are_none_stay_callable`; one winner: `case_13_…` in `rest.rs` |
//! | 14 hints and schemas | `process/python/tests/test_schema.py`, `test_docs.py`, `python/bad.rs::a_hint_that_nobody_can_resolve_does_not_lose_the_tool` |
//! | 15 results and errors | `python/tools.rs::results_are_text_json_or_pictures`, `case_15_…` in `rest.rs`, `python/bad.rs::exceptions_are_errors_with_their_place` |
//! | 15 exits, crashes, loops, forks, huge output | `python/deaths.rs`, `python/bad.rs::an_endless_result_is_cut_and_kept` |
//! | 16 both signatures, hot swap | `python/channels.rs`, `channels/reload.rs` |
//! | 16 failures, commands before whoever answers, sessions of senders | `python/channels.rs::case_16_…`, `channels/hostile.rs`, `channels/survival.rs`, `channels/basics.rs` |

mod asking;
mod env_files;
mod rest;
mod secrets;
mod servers;
mod soul;
mod support;
mod workspace;
