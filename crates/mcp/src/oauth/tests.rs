//! Logins against issuers that behave and issuers that do not.

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::*;
use crate::testing::{Reply, Request, Server};

/// A person whose browser does what the issuer says.
struct Browser {
    visits: std::sync::Mutex<Vec<Url>>,
    twist: Box<dyn Fn(&mut Url) + Send + Sync>,
}

impl Browser {
    fn new(twist: impl Fn(&mut Url) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { visits: std::sync::Mutex::default(), twist: Box::new(twist) })
    }

    fn visits(&self) -> Vec<Url> {
        self.visits.lock().expect("visits").clone()
    }
}

fn query(url: &Url, key: &str) -> Option<String> {
    url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned())
}

impl Consent for Browser {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:7/callback".to_owned()
    }

    fn ask<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, CallError>> {
        Box::pin(async move {
            let url = Url::parse(url).expect("an address");
            let mut back = Url::parse(&query(&url, "redirect_uri").expect("where to")).expect("an address");
            let challenge = query(&url, "code_challenge").expect("PKCE");
            back.query_pairs_mut()
                .append_pair("state", &query(&url, "state").expect("a state"))
                .append_pair("code", &format!("code:{challenge}"));
            self.visits.lock().expect("visits").push(url);
            (self.twist)(&mut back);
            Ok(back.to_string())
        })
    }
}

/// The metadata of an issuer at `origin`, with changes.
fn metadata(origin: &str, more: Value) -> Value {
    let mut metadata = json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "revocation_endpoint": format!("{origin}/revoke"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    });
    let changes = more.as_object().expect("changes").clone();
    metadata.as_object_mut().expect("an object").extend(changes);
    metadata
}

/// A server that is its own issuer. `more` changes its metadata, `resource` what it says that it is.
async fn place(more: Value, resource: Option<&'static str>) -> Server {
    let issued = AtomicUsize::new(0);
    Server::start(move |request: &Request| {
        let origin = format!("http://{}", request.header("host"));
        match request.path.as_str() {
            "/.well-known/oauth-protected-resource/mcp" => {
                let resource = resource.map_or_else(|| format!("{origin}/mcp"), str::to_owned);
                Reply::json(
                    json!({"resource": resource, "authorization_servers": [origin], "scopes_supported": ["a", "b"]}),
                )
            }
            "/.well-known/oauth-authorization-server" => Reply::json(metadata(&origin, more.clone())),
            "/register" => Reply::json(json!({"client_id": "registered", "client_secret": "s3cret"})),
            "/token" => {
                let number = issued.fetch_add(1, Ordering::SeqCst) + 1;
                if request.field("grant_type").as_deref() == Some("authorization_code") {
                    let verifier = request.field("code_verifier").unwrap_or_default();
                    let hash = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
                    assert_eq!(request.field("code"), Some(format!("code:{hash}")), "PKCE");
                }
                Reply::json(json!({
                    "access_token": format!("access-{number}"), "token_type": "bearer",
                    "refresh_token": format!("refresh-{number}"), "expires_in": 3600
                }))
            }
            "/revoke" => Reply::new(200),
            _ => Reply::new(404),
        }
    })
    .await
}

struct Setup {
    oauth: Oauth,
    browser: Arc<Browser>,
    store: Store,
    _folder: tempfile::TempDir,
}

fn setup(server: &Server, setup: ClientSetup, twist: impl Fn(&mut Url) + Send + Sync + 'static) -> Setup {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::at(folder.path().join("mcp"));
    let browser = Browser::new(twist);
    let consent = Some(Arc::clone(&browser) as Arc<dyn Consent>);
    let oauth = Oauth::new("docs", &format!("{}/mcp", server.origin), Some(store.clone()), setup, consent);
    Setup { oauth: oauth.expect("an address"), browser, store, _folder: folder }
}

fn refusal(status: u16, scope: Option<&str>) -> Challenge {
    Challenge { status, scope: scope.map(str::to_owned), ..Challenge::default() }
}

#[tokio::test]
async fn a_login_registers_asks_exchanges_and_keeps_the_result_for_its_owner_alone() {
    let server = place(json!({}), None).await;
    let Setup { oauth, browser, store, .. } = setup(&server, ClientSetup::default(), |_| {});
    assert_eq!(oauth.bearer().await, Ok(None));
    oauth.renew(&refusal(401, None), None).await.expect("logged in");
    assert_eq!(oauth.bearer().await, Ok(Some("access-1".to_owned())));
    let visit = &browser.visits()[0];
    let resource = format!("{}/mcp", server.origin);
    assert_eq!(query(visit, "resource").as_deref(), Some(resource.as_str()));
    assert_eq!(query(visit, "scope").as_deref(), Some("a b"));
    assert_eq!(query(visit, "client_id").as_deref(), Some("registered"));
    let seen = server.seen();
    let token = seen.iter().find(|one| one.path == "/token").expect("a token");
    assert_eq!(token.field("resource").as_deref(), Some(resource.as_str()));
    let registered = seen.iter().find(|one| one.path == "/register").expect("a registration").json();
    assert_eq!(registered["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(registered["application_type"], "native");
    let files: Vec<_> = std::fs::read_dir(&store.folder).expect("a folder").flatten().collect();
    assert!(!files.is_empty());
    for entry in files {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(entry.metadata().expect("known").permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
    }
    // Another process finds it; another address does not.
    let again = Oauth::new("docs", &resource, Some(store.clone()), ClientSetup::default(), None).expect("an address");
    assert_eq!(again.bearer().await, Ok(Some("access-1".to_owned())));
    let other =
        Oauth::new("docs", &format!("{resource}/x"), Some(store), ClientSetup::default(), None).expect("an address");
    assert_eq!(other.bearer().await, Ok(None));
}

#[tokio::test]
async fn what_is_refused_is_renewed_once_for_all_and_without_a_person() {
    let server = place(json!({}), None).await;
    let Setup { oauth, browser, store, .. } = setup(&server, ClientSetup::default(), |_| {});
    oauth.login(&refusal(401, None)).await.expect("logged in");
    let renew = || async { oauth.renew(&refusal(401, None), Some("access-1")).await };
    let (one, two) = tokio::join!(renew(), renew());
    assert_eq!((one, two), (Ok(()), Ok(())));
    assert_eq!(oauth.bearer().await, Ok(Some("access-2".to_owned())));
    assert_eq!(browser.visits().len(), 1, "nobody was asked again");
    let tokens: Vec<Request> = server.seen().into_iter().filter(|one| one.path == "/token").collect();
    assert_eq!(tokens.len(), 2, "and the issuer once");
    assert_eq!(tokens[1].field("refresh_token").as_deref(), Some("refresh-1"));
    // Nobody to ask, nothing to renew: the next step.
    let resource = format!("{}/mcp", server.origin);
    let quiet = Oauth::new("docs", &resource, Some(store), ClientSetup::default(), None).expect("an address");
    let error = quiet.renew(&refusal(403, Some("c")), Some("access-2")).await.expect_err("more is wanted");
    assert!(error.message.contains("jackfield mcp login docs --scope \"c\""), "{error}");
    assert_eq!(quiet.logout().await.expect("logged out"), (true, None));
    let revoked: Vec<Request> = server.seen().into_iter().filter(|one| one.path == "/revoke").collect();
    assert_eq!(
        revoked.iter().map(|one| one.field("token")).collect::<Vec<_>>(),
        [Some("refresh-2".to_owned()), Some("access-2".to_owned())]
    );
    assert_eq!(quiet.logout().await.expect("logged out"), (false, None));
    let error = quiet.renew(&refusal(401, None), None).await.expect_err("nobody");
    assert!(error.message.contains("run `jackfield mcp login docs`"), "{error}");
}

#[tokio::test]
async fn more_is_asked_for_once() {
    let server = place(json!({"scopes_supported": ["a", "offline_access"]}), None).await;
    let Setup { oauth, browser, .. } = setup(&server, ClientSetup::default(), |_| {});
    oauth.renew(&refusal(401, Some("a")), None).await.expect("logged in");
    oauth.renew(&refusal(403, Some("w")), Some("access-1")).await.expect("more");
    oauth.renew(&refusal(403, Some("w")), Some("access-2")).await.expect_err("enough");
    oauth.renew(&refusal(403, None), Some("access-2")).await.expect_err("no login helps");
    let asked: Vec<Option<String>> = browser.visits().iter().map(|visit| query(visit, "scope")).collect();
    assert_eq!(asked, [Some("a offline_access".to_owned()), Some("w a offline_access".to_owned())]);
}

#[tokio::test]
async fn clients_name_themselves_as_the_issuer_wants() {
    let given = || ClientSetup {
        client_id: Some("me".to_owned()),
        client_secret: Some("a/b".to_owned()),
        ..ClientSetup::default()
    };
    let basic = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode("me:a%2Fb"));
    for (methods, header, id, secret) in [
        (json!(["client_secret_basic"]), basic.as_str(), None, None),
        (json!(null), basic.as_str(), None, None),
        (json!(["client_secret_post"]), "", Some("me"), Some("a/b")),
    ] {
        let server = place(json!({"token_endpoint_auth_methods_supported": methods}), None).await;
        let Setup { oauth, .. } = setup(&server, given(), |_| {});
        oauth.login(&refusal(401, None)).await.expect("logged in");
        let seen = server.seen();
        let token = seen.iter().find(|one| one.path == "/token").expect("a token");
        assert_eq!(token.header("authorization"), header);
        assert_eq!((token.field("client_id").as_deref(), token.field("client_secret").as_deref()), (id, secret));
        assert!(!seen.iter().any(|one| one.path == "/register"), "it is registered");
    }
    let document = "https://example.org/client.json";
    let server = place(json!({"client_id_metadata_document_supported": true}), None).await;
    let by_document = ClientSetup { metadata_url: Some(document.to_owned()), ..ClientSetup::default() };
    let Setup { oauth, browser, .. } = setup(&server, by_document, |_| {});
    oauth.login(&refusal(401, None)).await.expect("logged in");
    assert_eq!(query(&browser.visits()[0], "client_id").as_deref(), Some(document));
    let server = place(json!({"registration_endpoint": null}), None).await;
    let Setup { oauth, .. } = setup(&server, ClientSetup::default(), |_| {});
    let error = oauth.login(&refusal(401, None)).await.expect_err("no way to register");
    assert!(error.message.contains("--client-id"), "{error}");
}

#[tokio::test]
async fn nothing_that_does_not_fit_is_trusted() {
    let cases: [(Value, Option<&'static str>, &str); 6] = [
        (json!({}), Some("https://evil.example/mcp"), "another resource"),
        (json!({"issuer": "https://evil.example"}), None, "another one"),
        (json!({"token_endpoint": "http://192.0.2.1/token"}), None, "not safe"),
        (json!({"authorization_endpoint": "file:///etc/passwd"}), None, "not safe"),
        (json!({"code_challenge_methods_supported": ["plain"]}), None, "PKCE"),
        (json!({"code_challenge_methods_supported": null}), None, "PKCE"),
    ];
    for (more, resource, part) in cases {
        let server = place(more.clone(), resource).await;
        let Setup { oauth, browser, .. } = setup(&server, ClientSetup::default(), |_| {});
        let error = oauth.login(&refusal(401, None)).await.expect_err(part);
        assert!(error.message.contains(part) && error.message.contains("docs"), "{more} {error}");
        assert!(browser.visits().is_empty(), "nobody was sent anywhere: {more}");
    }
    type Twist = fn(&mut Url);
    let twists: [(Value, Twist, &str); 5] = [
        (json!({}), |back| back.set_query(Some("code=x&state=other")), "state"),
        (
            json!({}),
            |back| {
                back.query_pairs_mut().append_pair("iss", "https://evil.example");
            },
            "evil.example",
        ),
        (json!({"authorization_response_iss_parameter_supported": true}), |_| {}, "does not say"),
        (
            json!({}),
            |back| {
                back.query_pairs_mut().append_pair("error", "access_denied");
            },
            "access_denied",
        ),
        (
            json!({}),
            |back| {
                let state = query(back, "state").unwrap_or_default();
                back.set_query(Some(&format!("state={state}")));
            },
            "without a code",
        ),
    ];
    for (more, twist, part) in twists {
        let server = place(more, None).await;
        let Setup { oauth, .. } = setup(&server, ClientSetup::default(), twist);
        let error = oauth.login(&refusal(401, None)).await.expect_err(part);
        assert!(error.message.contains(part), "{part}: {error}");
        assert!(!server.seen().iter().any(|one| one.path == "/token"), "{part}: nothing was exchanged");
    }
    let open = Oauth::new("docs", "http://192.0.2.1/mcp", None, ClientSetup::default(), Some(Browser::new(|_| {})));
    let error = open.expect("an address").login(&refusal(401, None)).await.expect_err("an open line");
    assert!(error.message.contains("https://"), "{error}");
}

#[tokio::test]
async fn a_new_issuer_knows_nothing_of_the_old_ones_client() {
    let second = place(json!({}), Some("unused")).await;
    let moved = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (flag, to) = (Arc::clone(&moved), second.origin.clone());
    let server = Server::start(move |request: &Request| {
        let origin = format!("http://{}", request.header("host"));
        let issuer = if flag.load(Ordering::SeqCst) { to.clone() } else { origin.clone() };
        match request.path.as_str() {
            "/.well-known/oauth-protected-resource/mcp" => {
                Reply::json(json!({"resource": format!("{origin}/mcp"), "authorization_servers": [issuer]}))
            }
            "/.well-known/openid-configuration" => Reply::json(metadata(&origin, json!({}))),
            "/register" => Reply::json(json!({"client_id": "first"})),
            "/token" => Reply::json(json!({"access_token": "old", "token_type": "Bearer"})),
            _ => Reply::new(404),
        }
    })
    .await;
    let Setup { oauth, browser, .. } = setup(&server, ClientSetup::default(), |_| {});
    oauth.renew(&refusal(401, None), None).await.expect("logged in");
    moved.store(true, Ordering::SeqCst);
    oauth.renew(&refusal(401, None), Some("old")).await.expect("logged in elsewhere");
    assert_eq!(oauth.bearer().await, Ok(Some("access-1".to_owned())));
    assert!(second.seen().iter().any(|one| one.path == "/register"), "it registered anew");
    assert!(!second.seen().iter().any(|one| one.body.contains("first")), "and said nothing of before");
    let clients: Vec<_> = browser.visits().iter().map(|visit| query(visit, "client_id")).collect();
    assert_eq!(clients, [Some("first".to_owned()), Some("registered".to_owned())]);
}

#[tokio::test]
async fn a_browser_comes_back_through_a_door_that_minds_nobody_else() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (shown, mut address) = tokio::sync::mpsc::unbounded_channel();
    let door = Loopback::open(0, std::time::Duration::from_secs(20), move |url| drop(shown.send(url.to_owned())));
    let door = Arc::new(door.await.expect("a port"));
    let back = door.redirect_uri();
    let host = Url::parse(&back).expect("an address").socket_addrs(|| None).expect("here")[0];
    let asking = tokio::spawn({
        let door = Arc::clone(&door);
        async move { door.ask("https://issuer.example/?x").await }
    });
    assert_eq!(address.recv().await.as_deref(), Some("https://issuer.example/?x"));
    // One that says nothing, one that wants something else, and then the browser.
    let _silent = tokio::net::TcpStream::connect(host).await.expect("connected");
    for (path, status) in [("/favicon.ico", "404"), ("/callback?code=1&state=2", "200")] {
        let mut stream = tokio::net::TcpStream::connect(host).await.expect("connected");
        stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    let came = asking.await.expect("no panic").expect("it came back");
    assert!(came.ends_with("/callback?code=1&state=2"), "{came}");
    let late = Loopback::open(0, std::time::Duration::from_millis(1), |_| {}).await.expect("a port");
    assert_eq!(late.ask("x").await.expect_err("nobody came").code, ErrorCode::Timeout);
}
