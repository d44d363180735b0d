//! What scripts that misbehave get, proved through the built binary, with their engine on a thread and in a process of its
//! own. Each failure names the extension and the reason; the host and the other extensions go on.

mod ends;
mod faults;
mod floods;
mod inside;
mod loading;
mod loops;
mod memory;
mod reach;
mod support;
