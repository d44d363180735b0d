//! Hashes, keys, ciphers, random bytes and compression.

use std::io::{Read as _, Write as _};

use aes::cipher::{BlockModeDecrypt as _, BlockModeEncrypt as _, KeyIvInit, StreamCipher as _};
use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use cbc::cipher::block_padding::Pkcs7;
use hmac::{Hmac, Mac as _};
use sha2::Digest as _;

use super::args::Args;
use super::{Native, NativeValue, Natives, Refusal};

/// The most that may come out of compressed data.
const MAX_OUTPUT_BYTES: u64 = 256 * 1024 * 1024;

/// Runs `$body` with `$hash` standing for the hash of that name.
macro_rules! with_hash {
    ($name:expr, $hash:ident => $body:expr) => {
        match $name.to_ascii_lowercase().replace('-', "").as_str() {
            "md5" => {
                type $hash = md5::Md5;
                Some($body)
            }
            "sha1" | "rsasha1" => {
                type $hash = sha1::Sha1;
                Some($body)
            }
            "sha224" => {
                type $hash = sha2::Sha224;
                Some($body)
            }
            "sha256" | "rsasha256" => {
                type $hash = sha2::Sha256;
                Some($body)
            }
            "sha384" | "rsasha384" => {
                type $hash = sha2::Sha384;
                Some($body)
            }
            "sha512" | "rsasha512" => {
                type $hash = sha2::Sha512;
                Some($body)
            }
            "sha512/256" | "sha512256" => {
                type $hash = sha2::Sha512_256;
                Some($body)
            }
            _ => None,
        }
    };
}

/// A hash under way: what came so far. Kept whole, so that a copy or another algorithm needs nothing special.
#[derive(Clone)]
pub(super) struct Running {
    algorithm: String,
    key: Option<Vec<u8>>,
    data: Vec<u8>,
}

impl Running {
    fn digest(&self) -> Result<Vec<u8>, Refusal> {
        match &self.key {
            Some(key) => hmac(&self.algorithm, key, &self.data),
            None => hash(&self.algorithm, &self.data),
        }
    }
}

fn unknown(algorithm: &str) -> Refusal {
    (format!("Digest method not supported: {algorithm}"), "ERR_CRYPTO_INVALID_DIGEST")
}

fn hash(algorithm: &str, data: &[u8]) -> Result<Vec<u8>, Refusal> {
    with_hash!(algorithm, Hash => Hash::digest(data).to_vec()).ok_or_else(|| unknown(algorithm))
}

fn hmac(algorithm: &str, key: &[u8], data: &[u8]) -> Result<Vec<u8>, Refusal> {
    with_hash!(algorithm, Hash => {
        let mut mac = <Hmac<Hash> as hmac::KeyInit>::new_from_slice(key).map_err(|_| unknown(algorithm))?;
        mac.update(data);
        mac.finalize().into_bytes().to_vec()
    })
    .ok_or_else(|| unknown(algorithm))
}

/// Answers if `name` is one of these.
pub(super) fn call(natives: &Natives, name: &str, args: &Args<'_, '_>) -> Native {
    Some(match name {
        "hash" => hash(&args.text(0), &args.bytes(1)).map(NativeValue::Bytes),
        "hmac" => hmac(&args.text(0), &args.bytes(1), &args.bytes(2)).map(NativeValue::Bytes),
        "hash_new" => {
            let running = Running { algorithm: args.text(0), key: args.maybe_bytes(1), data: Vec::new() };
            running.digest().and_then(|_| keep(natives, running))
        }
        "hash_update" => {
            let (handle, bytes) = (args.count(0) as u32, args.bytes(1));
            let mut hashes = natives.hashes.borrow_mut();
            let held: usize = hashes.values().map(|running| running.data.len()).sum();
            if held.saturating_add(bytes.len()) > MAX_OUTPUT_BYTES as usize {
                return Some(Err(too_much()));
            }
            if let Some(running) = hashes.get_mut(&handle) {
                running.data.extend_from_slice(&bytes);
            }
            Ok(NativeValue::Nothing)
        }
        "hash_copy" => match hash_at(natives, args) {
            Some(running) => keep(natives, running),
            None => Err(("Digest already called".to_owned(), "ERR_CRYPTO_HASH_FINALIZED")),
        },
        "hash_digest" => match natives.hashes.borrow_mut().remove(&(args.count(0) as u32)) {
            Some(running) => running.digest().map(NativeValue::Bytes),
            None => Err(("Digest already called".to_owned(), "ERR_CRYPTO_HASH_FINALIZED")),
        },
        "random" => random(args.count(0)).map(NativeValue::Bytes),
        "uuid" => random(16).map(|bytes| NativeValue::Text(uuid(bytes))),
        "pbkdf2" => {
            let (password, salt, rounds) = (args.bytes(1), args.bytes(2), args.count(3).max(1) as u32);
            let mut out = vec![0; args.count(4).min(1 << 20)];
            with_hash!(args.text(0), Hash => pbkdf2::pbkdf2_hmac::<Hash>(&password, &salt, rounds, &mut out))
                .map(|()| NativeValue::Bytes(out))
                .ok_or_else(|| unknown(&args.text(0)))
        }
        "hkdf" => {
            let (key, salt, info) = (args.bytes(1), args.bytes(2), args.bytes(3));
            let mut out = vec![0; args.count(4).min(1 << 20)];
            let done =
                with_hash!(args.text(0), Hash => hkdf::Hkdf::<Hash>::new(Some(&salt), &key).expand(&info, &mut out));
            match done {
                Some(Ok(())) => Ok(NativeValue::Bytes(out)),
                Some(Err(_)) => Err(("Invalid key length".to_owned(), "ERR_CRYPTO_INVALID_KEYLEN")),
                None => Err(unknown(&args.text(0))),
            }
        }
        "scrypt" => scrypt(args).map(NativeValue::Bytes),
        "cipher" => cipher(args).map(NativeValue::Bytes),
        "zlib" => zlib(&args.text(0), &args.bytes(1), &args.json(2)).map(NativeValue::Bytes),
        _ => return None,
    })
}

fn hash_at(natives: &Natives, args: &Args<'_, '_>) -> Option<Running> {
    natives.hashes.borrow().get(&(args.count(0) as u32)).cloned()
}

/// Keeps a hash under a number. What hashes hold is the host's memory and not the script's, so it has a limit of its own.
fn keep(natives: &Natives, running: Running) -> Result<NativeValue, Refusal> {
    let mut hashes = natives.hashes.borrow_mut();
    let held: usize = hashes.values().map(|running| running.data.len() + 64).sum();
    if held.saturating_add(running.data.len()) > MAX_OUTPUT_BYTES as usize || hashes.len() >= 16 * 1024 {
        return Err(too_much());
    }
    let number = natives.next.get().wrapping_add(1);
    natives.next.set(number);
    hashes.insert(number, running);
    Ok(NativeValue::Number(f64::from(number)))
}

fn too_much() -> Refusal {
    ("hashes that are not finished hold too much data; take their digests".to_owned(), "ERR_OUT_OF_RANGE")
}

fn random(count: usize) -> Result<Vec<u8>, Refusal> {
    if count > 64 * 1024 * 1024 {
        return Err((format!("{count} random bytes are too many at once"), "ERR_OUT_OF_RANGE"));
    }
    let mut bytes = vec![0; count];
    getrandom::fill(&mut bytes).map_err(|error| (format!("no random bytes: {error}"), "ERR_OPERATION_FAILED"))?;
    Ok(bytes)
}

fn uuid(mut bytes: Vec<u8>) -> String {
    if let Some(version) = bytes.get_mut(6) {
        *version = (*version & 0x0f) | 0x40;
    }
    if let Some(variant) = bytes.get_mut(8) {
        *variant = (*variant & 0x3f) | 0x80;
    }
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

fn scrypt(args: &Args<'_, '_>) -> Result<Vec<u8>, Refusal> {
    let bad = |_| ("Invalid scrypt params".to_owned(), "ERR_CRYPTO_INVALID_SCRYPT_PARAMS");
    let (n, r, p) = (args.count(2), args.count(3) as u32, args.count(4) as u32);
    let memory = 128_usize.saturating_mul(n).saturating_mul(r as usize);
    if !n.is_power_of_two() || memory > 512 * 1024 * 1024 {
        return Err(("Invalid scrypt params".to_owned(), "ERR_CRYPTO_INVALID_SCRYPT_PARAMS"));
    }
    let params = scrypt::Params::new(n.ilog2() as u8, r, p).map_err(|_| bad(()))?;
    let mut out = vec![0; args.count(5).min(1 << 20)];
    scrypt::scrypt(&args.bytes(0), &args.bytes(1), &params, &mut out).map_err(|_| bad(()))?;
    Ok(out)
}

/// `cipher(algorithm, encrypt, key, iv, data, aad)`; the tag of GCM stands at the end of the data.
fn cipher(args: &Args<'_, '_>) -> Result<Vec<u8>, Refusal> {
    let algorithm = args.text(0).to_ascii_lowercase();
    let (encrypt, key, iv, data) = (args.flag(1), args.bytes(2), args.bytes(3), args.bytes(4));
    let aad = args.bytes(5);
    let bad_key = || ("Invalid key length".to_owned(), "ERR_CRYPTO_INVALID_KEYLEN");
    let bad_iv = || ("Invalid initialization vector".to_owned(), "ERR_CRYPTO_INVALID_IV");
    let failed = || ("Unsupported state or unable to authenticate data".to_owned(), "ERR_CRYPTO_INVALID_STATE");
    macro_rules! gcm {
        ($aes:ty) => {{
            let cipher = <$aes>::new_from_slice(&key).map_err(|_| bad_key())?;
            let nonce = iv.as_slice().try_into().map_err(|_| bad_iv())?;
            let payload = Payload { msg: &data, aad: &aad };
            let done = if encrypt { cipher.encrypt(nonce, payload) } else { cipher.decrypt(nonce, payload) };
            done.map_err(|_| failed())
        }};
    }
    macro_rules! cbc {
        ($aes:ty) => {{
            if encrypt {
                let cipher = cbc::Encryptor::<$aes>::new_from_slices(&key, &iv).map_err(|_| bad_iv())?;
                let size = data.len();
                let mut buffer = data;
                buffer.resize(size + 16, 0);
                cipher.encrypt_padded::<Pkcs7>(&mut buffer, size).map(<[u8]>::to_vec).map_err(|_| failed())
            } else {
                let cipher = cbc::Decryptor::<$aes>::new_from_slices(&key, &iv).map_err(|_| bad_iv())?;
                let mut buffer = data;
                cipher
                    .decrypt_padded::<Pkcs7>(&mut buffer)
                    .map(<[u8]>::to_vec)
                    .map_err(|_| ("bad decrypt".to_owned(), "ERR_OSSL_BAD_DECRYPT"))
            }
        }};
    }
    macro_rules! ctr {
        ($aes:ty) => {{
            let mut cipher = ctr::Ctr128BE::<$aes>::new_from_slices(&key, &iv).map_err(|_| bad_iv())?;
            let mut buffer = data;
            cipher.apply_keystream(&mut buffer);
            Ok(buffer)
        }};
    }
    let width = match key.len() {
        16 => "128",
        24 => "192",
        32 => "256",
        _ => return Err(bad_key()),
    };
    if !algorithm.starts_with(&format!("aes-{width}-")) {
        let known = ["aes-128-", "aes-192-", "aes-256-"].iter().any(|prefix| algorithm.starts_with(prefix));
        return Err(if known { bad_key() } else { ("Unknown cipher".to_owned(), "ERR_CRYPTO_UNKNOWN_CIPHER") });
    }
    match algorithm.as_str() {
        "aes-128-gcm" => gcm!(aes_gcm::Aes128Gcm),
        "aes-192-gcm" => gcm!(aes_gcm::AesGcm<aes::Aes192, aes_gcm::aead::consts::U12>),
        "aes-256-gcm" => gcm!(aes_gcm::Aes256Gcm),
        "aes-128-cbc" => cbc!(aes::Aes128),
        "aes-192-cbc" => cbc!(aes::Aes192),
        "aes-256-cbc" => cbc!(aes::Aes256),
        "aes-128-ctr" => ctr!(aes::Aes128),
        "aes-192-ctr" => ctr!(aes::Aes192),
        "aes-256-ctr" => ctr!(aes::Aes256),
        _ => Err(("Unknown cipher".to_owned(), "ERR_CRYPTO_UNKNOWN_CIPHER")),
    }
}

fn zlib(op: &str, data: &[u8], options: &serde_json::Value) -> Result<Vec<u8>, Refusal> {
    use flate2::Compression;
    use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    let level = options
        .get("level")
        .and_then(serde_json::Value::as_u64)
        .map_or(Compression::default(), |level| Compression::new(level.min(9) as u32));
    let bad = |error: std::io::Error| (format!("incorrect header check or data: {error}"), "Z_DATA_ERROR");
    let write = |error: std::io::Error| (format!("compression failed: {error}"), "Z_STREAM_ERROR");
    let mut out = Vec::new();
    match op {
        "gzip" => {
            let mut encoder = GzEncoder::new(out, level);
            encoder.write_all(data).map_err(write)?;
            return encoder.finish().map_err(write);
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(out, level);
            encoder.write_all(data).map_err(write)?;
            return encoder.finish().map_err(write);
        }
        "deflate_raw" => {
            let mut encoder = DeflateEncoder::new(out, level);
            encoder.write_all(data).map_err(write)?;
            return encoder.finish().map_err(write);
        }
        "gunzip" => MultiGzDecoder::new(data).take(MAX_OUTPUT_BYTES).read_to_end(&mut out).map_err(bad)?,
        "inflate" => ZlibDecoder::new(data).take(MAX_OUTPUT_BYTES).read_to_end(&mut out).map_err(bad)?,
        "inflate_raw" => DeflateDecoder::new(data).take(MAX_OUTPUT_BYTES).read_to_end(&mut out).map_err(bad)?,
        "unzip" if data.starts_with(&[0x1f, 0x8b]) => {
            MultiGzDecoder::new(data).take(MAX_OUTPUT_BYTES).read_to_end(&mut out).map_err(bad)?
        }
        "unzip" => ZlibDecoder::new(data).take(MAX_OUTPUT_BYTES).read_to_end(&mut out).map_err(bad)?,
        "brotli_compress" => {
            let quality = options.get("quality").and_then(serde_json::Value::as_u64).unwrap_or(9).min(11) as u32;
            let mut encoder = brotli::CompressorWriter::new(&mut out, 4096, quality, 22);
            encoder.write_all(data).map_err(write)?;
            drop(encoder);
            0
        }
        "brotli_decompress" => {
            brotli::Decompressor::new(data, 4096).take(MAX_OUTPUT_BYTES).read_to_end(&mut out).map_err(bad)?
        }
        _ => return Err((format!("zlib has no operation {op}"), "ERR_INVALID_ARG_VALUE")),
    };
    if out.len() as u64 >= MAX_OUTPUT_BYTES {
        return Err((format!("Cannot create a Buffer larger than {MAX_OUTPUT_BYTES} bytes"), "ERR_BUFFER_TOO_LARGE"));
    }
    Ok(out)
}
