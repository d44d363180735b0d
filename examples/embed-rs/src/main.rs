//! An agent without a model: a person types what a model would say, one call per line, such as `shout {"text":"hi"}`.
//! The line `reload` takes over extensions that were edited meanwhile.

use std::time::Duration;

use jackfield::{Answer, Host, Question, ToolCall, TrustState, Which};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    // The host starts this program again for its child processes. They do their work in here and do not return.
    jackfield::child_main();
    tokio::runtime::Runtime::new()?.block_on(agent())
}

async fn agent() -> Result<(), Failure> {
    let project = std::env::args().nth(1).ok_or("usage: embed-rs PROJECT")?;
    let host = Host::builder().project(project).approve_with(approve).open()?;
    if host.project_trust() != TrustState::Trusted && yes("trust the extensions of this project?").await {
        host.trust_project().await?;
    }
    // Extensions of a trusted project may be edited while this agent runs.
    host.follow_project();
    list_tools(&host).await;
    while let Some(line) = read_line().await {
        let (tool, args) = line.split_once(' ').unwrap_or((&line, "{}"));
        if tool == "reload" {
            for changed in host.reload(Which::Changed).await {
                println!("reloaded {} {}", changed.extension, changed.error.unwrap_or(changed.changes.join(", ")));
            }
            list_tools(&host).await;
            continue;
        }
        let call = ToolCall::by_agent(tool, serde_json::from_str(args)?);
        match host.call_tool(call).await.result {
            Ok(answer) => println!("{}", serde_json::to_string(&answer)?),
            Err(error) => println!("error: {error}"),
        }
    }
    host.shutdown().await;
    Ok(())
}

async fn list_tools(host: &Host) {
    host.learn(Duration::from_secs(10)).await;
    host.snapshot().tools().for_each(|tool| println!("{}: {}", tool.name, tool.description));
}

async fn approve(question: Question) -> Answer {
    if yes(&question.to_string()).await { Answer::Once } else { Answer::No }
}

async fn yes(question: &str) -> bool {
    println!("{question} [y/n]");
    read_line().await.is_some_and(|line| line == "y")
}

async fn read_line() -> Option<String> {
    tokio::task::spawn_blocking(|| std::io::stdin().lines().next()?.ok()).await.ok()?
}
