package auth

import (
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
	"strings"
	"syscall"
	"time"
)

const (
	askPatience = 30 * time.Second // of one request to whoever issues tokens
	mostFetched = 1 << 20          // bytes of its response
)

// A fetcher asks those that issue tokens. Where they are is what a server says, so
// that each URL is looked at before it is used.
type fetcher struct {
	client   *http.Client
	insecure bool // every URL will do
	local    bool // the server is on this machine, and they may be, too
}

// newFetcher returns what asks issuers that a server's operator has chosen; a nil client
// is [http.DefaultClient].
func newFetcher(client *http.Client) *fetcher {
	if client == nil {
		client = http.DefaultClient
	}
	return &fetcher{client: staying(client), local: true}
}

// staying returns a client that goes nowhere else than where it is sent: where a redirect
// leads has not been looked at.
func staying(client *http.Client) *http.Client {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// errNotThere says that there is no document at a URL.
var errNotThere = errors.New("there is none")

// check tells why a URL must not be used.
func (f *fetcher) check(text string) (*url.URL, error) {
	u, err := parseURL(text, f.insecure)
	if err == nil && !f.insecure && !f.local && isLoopback(u.Hostname()) {
		return nil, fmt.Errorf("%q leads to this machine, where the server is not", display(u))
	}
	return u, err
}

// document reads the JSON at a URL. The error is errNotThere where there is none.
func (f *fetcher) document(ctx context.Context, at string, into any) error {
	data, err := f.get(ctx, at)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		u, _ := url.Parse(at) // what has been got can be
		return fmt.Errorf("%q: %w: %w", display(u), errNotThere, err)
	}
	return nil
}

// get reads what is at a URL. The error is errNotThere where there is nothing.
func (f *fetcher) get(ctx context.Context, at string) ([]byte, error) {
	u, err := f.check(at)
	if err != nil {
		return nil, err
	}
	req := (&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"Accept": {"application/json"}}}).WithContext(ctx)
	switch status, body, err := f.do(req); {
	case err != nil:
		return nil, fmt.Errorf("%q: %w", display(u), err)
	case (status/100 == 4 || status/100 == 3) && status != http.StatusTooManyRequests:
		return nil, fmt.Errorf("%q: %w (status %d)", display(u), errNotThere, status)
	case status != http.StatusOK:
		return nil, fmt.Errorf("%q: status %d", display(u), status)
	default:
		return body, nil
	}
}

// do makes a request and reads its response.
func (f *fetcher) do(req *http.Request) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(req.Context(), askPatience)
	defer cancel()
	res, err := f.client.Do(req.WithContext(ctx))
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which the caller names
		}
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, mostFetched+1))
	if err == nil && len(body) > mostFetched {
		err = fmt.Errorf("response is longer than %d bytes", mostFetched)
	}
	return res.StatusCode, body, err
}

// parseURL reads an absolute URL of HTTP, with TLS unless it leads to this machine or
// plain says that it need not.
func parseURL(text string, plain bool) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("it is no URL") // the text may hold a password
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return nil, fmt.Errorf("%q is no absolute URL of HTTP", display(u))
	case u.Scheme == "http" && !plain && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("%q is without TLS, so that everybody on the way could read it", display(u))
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

// display is how errors show a URL: without credentials and query.
func display(u *url.URL) string { return bare(u).String() }

// bare returns a URL without credentials and query.
func bare(u *url.URL) *url.URL {
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
}

// isLoopback tells whether a host is this machine by name.
func isLoopback(host string) bool {
	if host = strings.ToLower(host); host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// newGuardedClient returns a client that lets nobody use it to reach what only this
// machine can: the address is looked at after the name was resolved. With inside, every
// address will do.
func newGuardedClient(inside bool) *http.Client {
	dialer := &net.Dialer{Timeout: 15 * time.Second}
	if !inside {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !isPublic(at.Addr().Unmap()) {
				return fmt.Errorf("address %q is not of the public network (TransportOptions.Client can say otherwise)", address)
			}
			return nil
		}
	}
	return &http.Client{Transport: &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    15 * time.Second,
		IdleConnTimeout:        10 * time.Second, // nobody closes it
		MaxResponseHeaderBytes: 64 << 10,
	}}
}

// isPublic tells whether an address is one that strangers could reach, too.
func isPublic(ip netip.Addr) bool {
	ip = ip.WithZone("") // which no prefix contains
	if nat64.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:])) // which is where it leads
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// nat64 are the addresses of IPv4 in networks of IPv6 only.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// special are the addresses that are nobody's, or that another is hidden in.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),   // among carriers and clouds
	netip.MustParsePrefix("192.0.0.0/24"),    // metadata of a cloud are here, too
	netip.MustParsePrefix("198.18.0.0/15"),   // for measurements
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved
	netip.MustParsePrefix("::/96"),           // IPv4, as it was written once
	netip.MustParsePrefix("::ffff:0:0:0/96"), // IPv4, translated
	netip.MustParsePrefix("64:ff9b:1::/48"),  // IPv4 behind a NAT64 of the network's own
	netip.MustParsePrefix("2001::/32"),       // IPv4 behind Teredo
	netip.MustParsePrefix("2002::/16"),       // IPv4 behind 6to4
	netip.MustParsePrefix("fec0::/10"),       // of a site
}
