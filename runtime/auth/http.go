package auth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	requestTimeout   = 30 * time.Second // for a request to an authorization server
	maxResponseBytes = 1 << 20          // of the response
)

// fetcher sends requests to authorization servers. Their URLs come from MCP servers,
// which are not trusted, so each URL is checked first.
type fetcher struct {
	client        *http.Client
	allowInsecure bool          // accept http without TLS, and loopback addresses
	allowLoopback bool          // accept loopback addresses, because the MCP server has one
	nonces        *serverNonces // gets the nonces of responses to post, nil if they are not used
}

// newFetcher returns a fetcher for issuers that the operator of a server has configured.
// A nil client is [http.DefaultClient].
func newFetcher(client *http.Client) *fetcher {
	if client == nil {
		client = http.DefaultClient
	}
	return &fetcher{client: withoutRedirects(client), allowLoopback: true}
}

// withoutRedirects returns a client that follows no redirects, because the target of a
// redirect has not been checked.
func withoutRedirects(client *http.Client) *http.Client {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// errNotFound is in the chain of an error if a URL has no JSON document.
var errNotFound = errors.New("not found")

// checkURL parses a URL. It returns an error if the fetcher must not use the URL.
func (f *fetcher) checkURL(text string) (*url.URL, error) {
	u, err := parseURL(text, f.allowInsecure)
	if err == nil && !f.allowInsecure && !f.allowLoopback && isLoopback(u.Hostname()) {
		return nil, fmt.Errorf("%q is a loopback address, but the server is remote", redactedString(u))
	}
	return u, err
}

// getJSON fetches a URL and decodes its JSON into v. If there is no JSON, the chain of
// the error contains errNotFound.
func (f *fetcher) getJSON(ctx context.Context, at string, v any) error {
	data, err := f.get(ctx, at)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		u, _ := url.Parse(at) // no error: get has parsed it
		return fmt.Errorf("GET %q: %w: %w", redactedString(u), errNotFound, err)
	}
	return nil
}

// get fetches a URL. For redirects and client errors the chain of the error contains
// errNotFound.
func (f *fetcher) get(ctx context.Context, at string) ([]byte, error) {
	u, err := f.checkURL(at)
	if err != nil {
		return nil, err
	}
	req := (&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"Accept": {"application/json"}}}).WithContext(ctx)
	switch status, header, body, err := f.do(req); {
	case err != nil:
		return nil, fmt.Errorf("GET %q: %w", redactedString(u), err)
	case (status/100 == 4 || status/100 == 3) && status != http.StatusTooManyRequests:
		return nil, fmt.Errorf("GET %q: %w (status %d)", redactedString(u), errNotFound, status)
	case status != http.StatusOK:
		return nil, fmt.Errorf("GET %q: %w", redactedString(u), statusError(status, header))
	default:
		return body, nil
	}
}

// post sends data to a URL and returns the body of a successful response. An OAuth error
// response becomes an [*Error], except with a status of 5xx or 429, which say nothing
// about the request.
func (f *fetcher) post(ctx context.Context, to *url.URL, header http.Header, data []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header = header
	status, responseHeader, body, err := f.do(req)
	if f.nonces != nil && err == nil {
		f.nonces.update(to, responseHeader)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("POST %q: %w", redactedString(to), err)
	case status == http.StatusOK || status == http.StatusCreated:
		return body, nil
	}
	unavailable := isUnavailable(status)
	if e := parseError(redactedString(to), body); e != nil && !unavailable {
		return nil, e
	}
	return nil, fmt.Errorf("POST %q: %w", redactedString(to), statusError(status, responseHeader))
}

// isUnavailable reports whether a status describes the server and not the request.
func isUnavailable(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}

// statusError returns the error for a status. It is a [retryError] if the server is
// unavailable.
func statusError(status int, header http.Header) error {
	err := fmt.Errorf("status %d", status)
	if !isUnavailable(status) {
		return err
	}
	seconds, _ := strconv.Atoi(header.Get("Retry-After")) // a date is ignored
	return &retryError{err, time.Duration(min(max(seconds, 0), 60)) * time.Second}
}

// isTemporary reports whether a network error may be gone soon. Errors of certificates and
// refused addresses are not temporary.
func isTemporary(err error) bool {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return !dns.IsNotFound
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && !errors.Is(err, errNotPublic) {
		return op.Op == "dial" || op.Op == "read" || op.Op == "write"
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// do sends a request and reads the response. A temporary network error is a [retryError].
func (f *fetcher) do(req *http.Request) (status int, header http.Header, body []byte, err error) {
	defer func() {
		if err != nil && req.Context().Err() == nil && isTemporary(err) {
			err = &retryError{err: err}
		}
	}()
	ctx, cancel := context.WithTimeout(req.Context(), requestTimeout)
	defer cancel()
	res, err := f.client.Do(req.WithContext(ctx))
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which the caller adds in redacted form
		}
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxResponseBytes+1))
	if err == nil && len(body) > maxResponseBytes {
		err = fmt.Errorf("response is longer than %d bytes", maxResponseBytes)
	}
	return res.StatusCode, res.Header, body, err
}

// parseURL parses an absolute HTTP URL. It must use TLS, unless the host is a loopback
// address or allowHTTP is set.
func parseURL(text string, allowHTTP bool) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("malformed URL") // without the text, which may contain a password
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return nil, fmt.Errorf("%q is not an absolute HTTP URL", redactedString(u))
	case u.Scheme == "http" && !allowHTTP && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("%q is a URL without TLS", redactedString(u))
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

// parseIdentifierURL parses a URL that identifies an issuer or a resource. It must use
// TLS, unless the host is a loopback address, and must only have scheme, host and path.
func parseIdentifierURL(s string) (*url.URL, error) {
	u, err := parseURL(s, false)
	if err == nil && (u.User != nil || strings.ContainsAny(s, "?#")) {
		err = fmt.Errorf("%q has credentials, a query or a fragment", redactedString(u))
	}
	return u, err
}

// redactedString returns a URL without credentials and query, for error messages.
func redactedString(u *url.URL) string { return redacted(u).String() }

// redacted returns a copy of a URL without credentials and query.
func redacted(u *url.URL) *url.URL {
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
}

// sameIssuer reports whether two URLs identify the same issuer. Only a slash after the
// host makes no difference: some issuers are configured with it, and name themselves
// without it.
func sameIssuer(a, b string) bool { return a == b || issuerWithoutSlash(a) == issuerWithoutSlash(b) }

// issuerWithoutSlash removes the slash of a URL that has nothing else after its host.
func issuerWithoutSlash(issuer string) string {
	short, hasSlash := strings.CutSuffix(issuer, "/")
	if _, host, ok := strings.Cut(short, "://"); hasSlash && ok && host != "" && !strings.ContainsAny(host, "/?#") {
		return short
	}
	return issuer
}

// containsIssuer reports whether a list contains an issuer.
func containsIssuer(list []string, issuer string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return sameIssuer(s, issuer) })
}

// sameOrigin reports whether two URLs have the same origin.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if u.Scheme == "https" {
		return cmp.Or(u.Port(), "443")
	}
	return cmp.Or(u.Port(), "80")
}

// isLoopback reports whether a host is a loopback address or a name of the local machine.
func isLoopback(host string) bool {
	if host = strings.ToLower(host); host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// errNotPublic is returned for an address inside a private network.
var errNotPublic = errors.New("is not public")

// newPublicClient returns a client that only connects to public addresses, so that a
// server cannot use it to reach a private network. It checks addresses after name
// resolution. With allowPrivate it connects to every address.
func newPublicClient(allowPrivate bool) *http.Client {
	dialer := &net.Dialer{Timeout: 15 * time.Second}
	if !allowPrivate {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !isPublic(at.Addr().Unmap()) {
				return fmt.Errorf("address %q %w (TransportOptions.HTTPClient can allow it)", address, errNotPublic)
			}
			return nil
		}
	}
	return &http.Client{Transport: &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    15 * time.Second,
		IdleConnTimeout:        10 * time.Second, // short, because the client is never closed
		MaxResponseHeaderBytes: 64 << 10,
	}}
}

// isPublic reports whether an address belongs to the public internet.
func isPublic(ip netip.Addr) bool {
	ip = ip.WithZone("") // a prefix contains no address with a zone
	if nat64Prefix.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:])) // the address that NAT64 translates to
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(nonPublicPrefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// nat64Prefix has the IPv4 addresses in networks that only have IPv6.
var nat64Prefix = netip.MustParsePrefix("64:ff9b::/96")

// nonPublicPrefixes are special-purpose addresses, and IPv6 addresses that embed an IPv4
// address.
var nonPublicPrefixes = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),   // shared by carriers and clouds
	netip.MustParsePrefix("192.0.0.0/24"),    // includes metadata of a cloud
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved
	netip.MustParsePrefix("::/96"),           // IPv4-compatible, deprecated
	netip.MustParsePrefix("::ffff:0:0:0/96"), // IPv4-translated
	netip.MustParsePrefix("64:ff9b:1::/48"),  // local NAT64
	netip.MustParsePrefix("2001::/32"),       // Teredo
	netip.MustParsePrefix("2002::/16"),       // 6to4
	netip.MustParsePrefix("fec0::/10"),       // site-local
}
