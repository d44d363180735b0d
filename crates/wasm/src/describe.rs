//! What a component says of itself, asked without giving it anything: `describe` is pure.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_protocol::{
    CallError, ContributionChange, Contributions, ErrorCode, HostCall, LogRecord, Manifest, Notice,
};
use jackfield_runtime::{BoxFuture, HostApi, HostCallCx, Secrets, StartError, StartSpec};
use serde_json::Value;

use crate::WasmRuntime;

/// How long it may take.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Nobody is behind it.
struct Nobody;

impl HostApi for Nobody {
    fn call(&self, _: HostCall, _: HostCallCx) -> BoxFuture<'_, Result<Value, CallError>> {
        Box::pin(async { Err(CallError::new(ErrorCode::Denied, "nobody serves host calls here")) })
    }

    fn contribute(&self, _: ContributionChange) {}

    fn tell(&self, _: Notice) {}

    fn log(&self, _: LogRecord) {}
}

impl WasmRuntime {
    /// What a component contributes and asks for. It runs in its sandbox, without any host call, and is not initialised.
    ///
    /// # Errors
    /// It is no component that this host could run, or its `describe` fails.
    pub async fn describe(&self, manifest: Arc<Manifest>, dir: PathBuf) -> Result<Contributions, StartError> {
        let spec = StartSpec {
            manifest,
            data_dir: dir.clone(),
            project: dir.clone(),
            dir,
            log_file: PathBuf::from("/dev/null"),
            env: Vec::new(),
            provider: String::new(),
            model: String::new(),
            start_timeout: DESCRIBE_TIMEOUT,
            max_memory_mb: None,
            cpu_slice: None,
            secrets: Secrets::default(),
        };
        let prepared = self.prepare(&spec, Arc::new(Nobody)).await?;
        prepared.described(&spec, false).await
    }
}
