//! Who may ask: tokens, each bound to one session. Only their hashes are kept, so nothing here can show one; they are
//! compared without saying how much of one was right.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jackfield_protocol::hex;
use jackfield_protocol::{CallError, ErrorCode};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

/// How many tokens there may be at a time.
const MAX_TOKENS: usize = 1024;
/// The longest name of a token or a session, in characters.
const MAX_NAME_CHARS: usize = 256;
/// The longest that a token may be valid: a year.
const MAX_LIFETIME_SECONDS: u64 = 366 * 24 * 3600;
/// The session of the token that `serve` prints.
pub(crate) const OWN_SESSION: &str = "main";

/// A wish for a token.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewToken {
    /// The session that its calls belong to; a new one without it.
    #[schemars(length(min = 1, max = 256))]
    pub session: Option<String>,
    /// The name under which lists show the token.
    #[schemars(length(max = 256))]
    pub name: Option<String>,
    /// For how long it is valid; as long as the gateway runs without it.
    #[schemars(range(min = 1, max = 31_622_400))]
    #[serde(deserialize_with = "whole_number")]
    pub expires_in: Option<u64>,
    /// The process that it is for; without it, the first that names itself.
    #[schemars(range(min = 1, max = 4_294_967_295_u64))]
    #[serde(deserialize_with = "whole_number")]
    pub pid: Option<u32>,
    /// Whether it may register tools.
    pub register_tools: bool,
}

/// A token, shown this once.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenMade {
    /// Always true.
    pub ok: bool,
    /// Names it, for instance to revoke it.
    pub id: String,
    /// The token itself, which is not kept.
    pub token: String,
    /// The session that its calls belong to.
    pub session: String,
}

/// A token as lists show it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenShown {
    /// Names the token, for instance to revoke it.
    pub(crate) id: String,
    /// The session that its calls belong to.
    pub(crate) session: String,
    /// As whoever asked for it called it.
    pub(crate) name: String,
    /// `owner` for the one that `serve` printed, else `caller`.
    pub(crate) role: String,
    /// Whether it may register tools.
    pub(crate) register_tools: bool,
    /// The process it belongs to, if it is known.
    pub(crate) pid: Option<u32>,
    /// In how many seconds it ends, if ever.
    pub(crate) expires_in: Option<u64>,
}

/// Whoever holds a token.
pub(crate) struct Holder {
    pub(crate) id: String,
    pub(crate) session: String,
    name: String,
    digest: [u8; 32],
    pub(crate) is_owner: bool,
    pub(crate) may_register: bool,
    pid: Mutex<Option<u32>>,
    expires: Option<Instant>,
    bucket: Mutex<Bucket>,
    /// Cancelled when the token is not valid any more.
    pub(crate) revoked: CancellationToken,
}

/// Requests that may be made at once; it fills again with time.
struct Bucket {
    left: f64,
    at: Instant,
}

impl Holder {
    /// Whether this process may use the token: it belongs to the first one that names itself.
    pub(crate) fn is_of(&self, pid: u32) -> bool {
        *lock(&self.pid).get_or_insert(pid) == pid
    }

    /// Takes one request, or says how many seconds to wait for the next. `rate` is per second, with twice as many at once.
    pub(crate) fn admit(&self, rate: u32, now: Instant) -> Result<(), u64> {
        if rate == 0 {
            return Ok(());
        }
        let rate = f64::from(rate);
        let mut bucket = lock(&self.bucket);
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + passed * rate).min(rate * 2.0);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(((1.0 - bucket.left) / rate).ceil().max(1.0) as u64);
        }
        bucket.left -= 1.0;
        Ok(())
    }

    fn is_valid(&self, now: Instant) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

/// All tokens of a gateway.
#[derive(Default)]
pub struct Tokens {
    holders: Mutex<BTreeMap<String, Arc<Holder>>>,
}

impl Tokens {
    /// Makes the token that may do everything.
    ///
    /// # Errors
    /// Without randomness there are no tokens.
    pub(crate) fn make_owner(&self) -> Result<String, CallError> {
        let wish =
            NewToken { session: Some(OWN_SESSION.to_owned()), name: Some("owner".into()), ..NewToken::default() };
        self.add(wish, true).map(|made| made.token)
    }

    /// Makes a token for one caller.
    ///
    /// # Errors
    /// `invalid_request` for a wish that cannot be granted.
    pub fn make(&self, wish: NewToken) -> Result<TokenMade, CallError> {
        self.add(wish, false)
    }

    fn add(&self, wish: NewToken, is_owner: bool) -> Result<TokenMade, CallError> {
        let bad = |message: &str| Err(CallError::new(ErrorCode::InvalidRequest, message));
        let (session, name) = (wish.session, wish.name.unwrap_or_default());
        if session.as_deref().is_some_and(|session| session.is_empty() || session.chars().count() > MAX_NAME_CHARS) {
            return bad("`session` must have between 1 and 256 characters");
        }
        if name.chars().count() > MAX_NAME_CHARS {
            return bad("`name` may have at most 256 characters");
        }
        if wish.expires_in.is_some_and(|seconds| seconds == 0 || seconds > MAX_LIFETIME_SECONDS) {
            return bad("`expiresIn` must be between 1 second and 366 days");
        }
        if wish.pid == Some(0) {
            return bad("`pid` must be the number of a process");
        }
        let (token, id) = (random::<32>()?, random::<6>()?);
        let session = session.unwrap_or_else(|| format!("session-{id}"));
        let now = Instant::now();
        let holder = Holder {
            id: id.clone(),
            session: session.clone(),
            name,
            digest: digest(&token),
            is_owner,
            may_register: is_owner || wish.register_tools,
            pid: Mutex::new(wish.pid),
            expires: wish.expires_in.map(|seconds| now + Duration::from_secs(seconds)),
            bucket: Mutex::new(Bucket { left: f64::INFINITY, at: now }),
            revoked: CancellationToken::new(),
        };
        let mut holders = lock(&self.holders);
        sweep(&mut holders, now);
        if holders.len() >= MAX_TOKENS {
            let message = format!("there are {MAX_TOKENS} tokens already; revoke one first");
            return Err(CallError::new(ErrorCode::Unavailable, message));
        }
        holders.insert(id.clone(), Arc::new(holder));
        Ok(TokenMade { ok: true, id, token, session })
    }

    /// Takes a token back: whatever it keeps open ends. False if there is none of that id.
    pub fn revoke(&self, id: &str) -> bool {
        let removed = lock(&self.holders).remove(id);
        removed.map(|holder| holder.revoked.cancel()).is_some()
    }

    /// Who holds this token. Looks at all of them, however early one fits.
    pub(crate) fn holder(&self, token: &str) -> Option<Arc<Holder>> {
        let digest = digest(token);
        let now = Instant::now();
        let mut holders = lock(&self.holders);
        let mut found = None;
        for holder in holders.values() {
            if same(&holder.digest, &digest) {
                found = Some(Arc::clone(holder));
            }
        }
        match found {
            Some(holder) if !holder.is_valid(now) => {
                sweep(&mut holders, now);
                None
            }
            found => found,
        }
    }

    pub(crate) fn list(&self) -> Vec<TokenShown> {
        let now = Instant::now();
        let mut holders = lock(&self.holders);
        sweep(&mut holders, now);
        let shown = holders.values().map(|holder| TokenShown {
            id: holder.id.clone(),
            session: holder.session.clone(),
            name: holder.name.clone(),
            role: if holder.is_owner { "owner" } else { "caller" }.to_owned(),
            register_tools: holder.may_register,
            pid: *lock(&holder.pid),
            expires_in: holder.expires.map(|expires| expires.saturating_duration_since(now).as_secs()),
        });
        shown.collect()
    }
}

/// A number without a fraction; JSON Schema and JavaScript take 7.0 for 7.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    // Up to where every whole number has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = || value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..EXACT).contains(number));
    value.as_u64().or_else(|| float().map(|number| number as u64))
}

fn whole_number<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<Option<T>, D::Error> {
    match Option::<Value>::deserialize(deserializer)? {
        None => Ok(None),
        Some(value) => {
            let number = whole(&value).and_then(|number| T::try_from(number).ok());
            number.map(Some).ok_or_else(|| D::Error::custom("not a whole number within bounds"))
        }
    }
}

fn sweep(holders: &mut BTreeMap<String, Arc<Holder>>, now: Instant) {
    holders.retain(|_, holder| {
        let valid = holder.is_valid(now);
        if !valid {
            holder.revoked.cancel();
        }
        valid
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Takes the same time whatever differs.
pub(crate) fn same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let differs = one.iter().zip(other).fold(0u8, |differs, (one, other)| black_box(differs | (one ^ other)));
    black_box(differs) == 0
}

/// As many random bytes in hexadecimal.
pub(crate) fn random<const N: usize>() -> Result<String, CallError> {
    let mut bytes = [0u8; N];
    let none = |error| CallError::new(ErrorCode::Io, format!("no random numbers: {}", io::Error::other(error)));
    getrandom::fill(&mut bytes).map_err(none)?;
    Ok(hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_revoked_and_end() {
        let tokens = Tokens::default();
        let owner = tokens.make_owner().expect("made");
        assert_eq!(owner.len(), 64, "256 bits");
        let made = tokens.make(NewToken { expires_in: Some(1000), ..NewToken::default() }).expect("made");
        assert_ne!(owner, made.token);
        assert!(tokens.holder(&owner).is_some_and(|holder| holder.is_owner && holder.session == OWN_SESSION));
        assert!(tokens.holder(&made.token).is_some_and(|holder| !holder.is_owner && !holder.may_register));
        assert!(tokens.holder(&made.token[1..]).is_none());
        assert!(tokens.holder("").is_none());
        let holder = tokens.holder(&made.token).expect("held");
        assert!(tokens.revoke(&made.id) && !tokens.revoke(&made.id));
        assert!(tokens.holder(&made.token).is_none() && holder.revoked.is_cancelled());
        assert!(!format!("{:?}", tokens.list()).contains(&owner));
    }

    #[test]
    fn whole_numbers() {
        let read = |text: &str| serde_json::from_str::<NewToken>(text).map(|wish| wish.pid).ok();
        assert_eq!(read(r#"{"pid":7}"#), Some(Some(7)));
        assert_eq!(read(r#"{"pid":7.0}"#), Some(Some(7)));
        assert_eq!(read(r#"{"pid":null}"#), Some(None));
        for text in [r#"{"pid":7.5}"#, r#"{"pid":-1}"#, r#"{"pid":4294967296}"#, r#"{"pid":"7"}"#, r#"{"pid":1e300}"#] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn wishes_have_bounds() {
        let tokens = Tokens::default();
        let refused = |wish: NewToken| tokens.make(wish).is_err();
        assert!(refused(NewToken { session: Some(String::new()), ..NewToken::default() }));
        assert!(refused(NewToken { name: Some("x".repeat(257)), ..NewToken::default() }));
        assert!(refused(NewToken { expires_in: Some(0), ..NewToken::default() }));
        assert!(refused(NewToken { expires_in: Some(u64::MAX), ..NewToken::default() }));
        assert!(refused(NewToken { pid: Some(0), ..NewToken::default() }));
    }

    #[test]
    fn a_token_belongs_to_the_first_process_that_names_itself() {
        let tokens = Tokens::default();
        let made = tokens.make(NewToken::default()).expect("made");
        let holder = tokens.holder(&made.token).expect("held");
        assert!(holder.is_of(7) && holder.is_of(7) && !holder.is_of(8));
        let made = tokens.make(NewToken { pid: Some(9), ..NewToken::default() }).expect("made");
        assert!(!tokens.holder(&made.token).expect("held").is_of(8));
    }

    #[test]
    fn a_bucket_fills_again() {
        let tokens = Tokens::default();
        let made = tokens.make(NewToken::default()).expect("made");
        let holder = tokens.holder(&made.token).expect("held");
        let now = Instant::now() + Duration::from_secs(1);
        let admitted = (0..100).filter(|_| holder.admit(10, now).is_ok()).count();
        assert_eq!(admitted, 20);
        assert_eq!(holder.admit(10, now), Err(1));
        assert_eq!(holder.admit(10, now + Duration::from_secs(1)), Ok(()));
        assert!((0..1000).all(|_| holder.admit(0, now).is_ok()), "0 is no limit");
    }
}
