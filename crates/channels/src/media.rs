//! Files that go out on a channel: which kinds, how large, and that they are what their name says.

use jackfield_protocol::{CallError, ErrorCode};

const MIB: usize = 1024 * 1024;

/// The most bytes of any file that is read.
pub(crate) const LARGEST: usize = 20 * MIB;
/// The longest caption, in characters.
pub(crate) const LONGEST_CAPTION: usize = 1024;

/// How a file is shown to whoever gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Photo,
    Audio,
    Video,
    Sticker,
    Document,
}

/// A file that is sent.
#[derive(Debug)]
pub(crate) struct OutFile {
    pub(crate) name: String,
    pub(crate) sort: Sort,
    pub(crate) mime: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) caption: Option<String>,
}

/// A kind of file: the ends of its names, what it is, and how its content begins, where that can be told.
struct Known {
    ends: &'static [&'static str],
    mime: &'static str,
    sort: Sort,
    begins: &'static [(usize, &'static [u8])],
}

const KNOWN: [Known; 21] = [
    Known { ends: &["png"], mime: "image/png", sort: Sort::Photo, begins: &[(0, b"\x89PNG\r\n\x1a\n")] },
    Known { ends: &["jpg", "jpeg"], mime: "image/jpeg", sort: Sort::Photo, begins: &[(0, b"\xff\xd8\xff")] },
    Known { ends: &["gif"], mime: "image/gif", sort: Sort::Photo, begins: &[(0, b"GIF8")] },
    Known { ends: &["webp"], mime: "image/webp", sort: Sort::Photo, begins: &[(0, b"RIFF"), (8, b"WEBP")] },
    Known { ends: &["bmp"], mime: "image/bmp", sort: Sort::Photo, begins: &[(0, b"BM")] },
    Known { ends: &["mp3"], mime: "audio/mpeg", sort: Sort::Audio, begins: &[] },
    Known { ends: &["ogg", "opus"], mime: "audio/ogg", sort: Sort::Audio, begins: &[(0, b"OggS")] },
    Known { ends: &["wav"], mime: "audio/wav", sort: Sort::Audio, begins: &[(0, b"RIFF"), (8, b"WAVE")] },
    Known { ends: &["m4a"], mime: "audio/mp4", sort: Sort::Audio, begins: &[(4, b"ftyp")] },
    Known { ends: &["flac"], mime: "audio/flac", sort: Sort::Audio, begins: &[(0, b"fLaC")] },
    Known { ends: &["mp4"], mime: "video/mp4", sort: Sort::Video, begins: &[(4, b"ftyp")] },
    Known { ends: &["mov"], mime: "video/quicktime", sort: Sort::Video, begins: &[(4, b"ftyp")] },
    Known { ends: &["webm"], mime: "video/webm", sort: Sort::Video, begins: &[(0, b"\x1aE\xdf\xa3")] },
    Known { ends: &["pdf"], mime: "application/pdf", sort: Sort::Document, begins: &[(0, b"%PDF-")] },
    Known { ends: &["zip"], mime: "application/zip", sort: Sort::Document, begins: &[(0, b"PK")] },
    Known {
        ends: &["docx", "xlsx", "pptx", "odt", "ods", "odp", "epub"],
        mime: "application/octet-stream",
        sort: Sort::Document,
        begins: &[(0, b"PK")],
    },
    Known { ends: &["txt", "log", "md", "rst"], mime: "text/plain", sort: Sort::Document, begins: &[] },
    Known { ends: &["csv", "tsv"], mime: "text/csv", sort: Sort::Document, begins: &[] },
    Known { ends: &["json", "jsonl"], mime: "application/json", sort: Sort::Document, begins: &[] },
    Known { ends: &["svg", "html", "xml"], mime: "application/octet-stream", sort: Sort::Document, begins: &[] },
    Known { ends: &["patch", "diff", "ics", "vcf"], mime: "text/plain", sort: Sort::Document, begins: &[] },
];

/// What may be sent of a path, before it is read.
pub(crate) struct Judged {
    known: &'static Known,
    name: String,
    sort: Sort,
}

/// Judges the name of a file and how it is to be shown.
pub(crate) fn judge(path: &str, wish: Option<&str>) -> Result<Judged, CallError> {
    let refuse = |why: String| Err(CallError::new(ErrorCode::Denied, format!("{path:?} is not sent: {why}")));
    if path.split('/').any(|step| step.len() > 1 && step.starts_with('.') && step != "..") {
        return refuse("hidden files and what is in hidden folders stay here".to_owned());
    }
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).unwrap_or_default();
    let Some(known) = KNOWN.iter().find(|known| known.ends.contains(&end.as_str())) else {
        let ends: Vec<&str> = KNOWN.iter().flat_map(|known| known.ends.iter().copied()).collect();
        return refuse(format!("files of type {end:?} are not; these are: {}", ends.join(", ")));
    };
    let sort = match wish {
        None => known.sort,
        Some("document") => Sort::Document,
        Some("photo") if known.sort == Sort::Photo => Sort::Photo,
        Some("audio") if known.sort == Sort::Audio => Sort::Audio,
        Some("video") if known.sort == Sort::Video => Sort::Video,
        Some("sticker") if end == "webp" => Sort::Sticker,
        Some(other) => return refuse(format!("a file of type {end:?} cannot be sent as {other}")),
    };
    Ok(Judged { known, name, sort })
}

impl Judged {
    /// The most bytes that it may have.
    pub(crate) fn most(&self) -> usize {
        match self.sort {
            Sort::Photo => 10 * MIB,
            Sort::Sticker => MIB / 2,
            Sort::Audio | Sort::Video | Sort::Document => LARGEST,
        }
    }

    /// The file, if its content is what its name says.
    pub(crate) fn with(self, bytes: Vec<u8>, caption: Option<String>) -> Result<OutFile, CallError> {
        let Self { known, name, sort } = self;
        let refuse = |why: &str| Err(CallError::new(ErrorCode::Denied, format!("{name:?} is not sent: {why}")));
        if bytes.is_empty() {
            return refuse("it is empty");
        }
        let is = |(at, begins): &(usize, &[u8])| bytes.get(*at..).is_some_and(|rest| rest.starts_with(begins));
        if !known.begins.iter().all(is) {
            return refuse("its content is not of the type that its name says");
        }
        let is_text = known.mime.starts_with("text/") || known.mime == "application/json";
        if is_text && std::str::from_utf8(&bytes).is_err() {
            return refuse("its content is not the text that its name says");
        }
        Ok(OutFile { name, sort, mime: known.mime, bytes, caption })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged() {
        let refusal = |path: &str, wish| judge(path, wish).map(|judged| judged.sort).map_err(|error| error.message);
        assert_eq!(refusal("a/b.PNG", None), Ok(Sort::Photo));
        assert_eq!(refusal("a/b.png", Some("document")), Ok(Sort::Document));
        assert_eq!(refusal("a.webp", Some("sticker")), Ok(Sort::Sticker));
        for path in [".env", ".git/config.txt", "a/.ssh/b.txt", "id_rsa", "a.sh", "a.pem", "a.sqlite", "", "a.", "png"]
        {
            assert!(refusal(path, None).is_err(), "{path}");
        }
        assert!(refusal("a.txt", Some("photo")).is_err_and(|why| why.contains("as photo")));
    }

    #[test]
    fn content_must_be_what_the_name_says() {
        let file = |name: &str, bytes: &[u8]| judge(name, None).and_then(|judged| judged.with(bytes.to_vec(), None));
        assert!(file("a.png", b"\x89PNG\r\n\x1a\n...").is_ok());
        assert!(file("a.png", b"-----BEGIN PRIVATE KEY").is_err());
        assert!(file("a.wav", b"RIFF....WAVE").is_ok());
        assert!(file("a.wav", b"RIFF....WEBP").is_err());
        assert!(file("a.txt", b"").is_err() && file("a.txt", b"\xff\x00").is_err());
        assert_eq!(file("a.md", "ü".as_bytes()).map(|file| file.mime).ok(), Some("text/plain"));
    }
}
