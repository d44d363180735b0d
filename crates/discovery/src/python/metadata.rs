//! What a Python file says about itself in comments, in the form of inline script metadata:
//!
//! ```python
//! # /// script
//! # [tool.jackfield]
//! # requires = { env = ["SLACK_TOKEN"] }
//! # ///
//! ```

use std::path::Path;

use jackfield_files::{self as files, ReadError};
use serde_json::Value;

use super::super::js::{Own, own_table};

const MAX_FILE: u64 = 8 << 20;

/// The table `[tool.jackfield]`, and what is odd about it. A file without one, or one that cannot be read, says nothing.
pub(super) fn read(file: &Path) -> Result<(Own, Vec<String>), String> {
    let text = match files::read_text(file, MAX_FILE) {
        Ok(text) => text,
        Err(ReadError::NotAFile(what)) => return Err(format!("{what} stands where a Python file is expected")),
        // The interpreter says it better.
        Err(_) => return Ok((Own::default(), Vec::new())),
    };
    let Some(block) = block(&text) else { return Ok((Own::default(), Vec::new())) };
    let table: toml::Table = match block.parse() {
        Ok(table) => table,
        Err(error) => return Err(format!("the block `# /// script` in {} is not TOML: {error}", file.display())),
    };
    let Some(own) = table.get("tool").and_then(|tool| tool.get("jackfield")) else {
        return Ok((Own::default(), Vec::new()));
    };
    let mut warnings = Vec::new();
    let own = match serde_json::to_value(own) {
        Ok(Value::Object(own)) => own_table(&own, &mut warnings)?,
        _ => return Err("`tool.jackfield` must be a table".to_owned()),
    };
    Ok((own, warnings))
}

/// The text of the block without its comment signs.
fn block(text: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| line.trim_end() != "# /// script").skip(1);
    let mut block = String::new();
    loop {
        let line = lines.next()?.trim_end();
        if line == "# ///" {
            return Some(block);
        }
        let bare = line.strip_prefix("# ").or_else(|| (line == "#").then_some(""))?;
        block.push_str(bare);
        block.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_where_it_says_and_is_comments_throughout() {
        assert_eq!(block("x = 1\n# /// script\n# a = 1\n#\n# b = 2\n# ///\n"), Some("a = 1\n\nb = 2\n".to_owned()));
        assert_eq!(block("# /// script\n# a = 1\nx = 1\n# ///\n"), None);
        assert_eq!(block("# /// script\n# a = 1\n"), None);
        assert_eq!(block(""), None);
    }
}
