package auth

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestIsPublic(t *testing.T) {
	for address, public := range map[string]bool{
		"93.184.215.14": true, "2606:2800:21f:cb07:6820:80da:af6b:8b2c": true,
		"127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"fe80::1": false, "fd00::1": false, "0.0.0.0": false, "::": false, "224.0.0.1": false, "100.64.0.1": false, "255.255.255.255": false,
		"0.1.2.3": false, "192.0.0.192": false, "198.18.0.1": false, "240.0.0.1": false,
		"::7f00:1": false, "::ffff:0:7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::5db8:d70e": true, "64:ff9b:1::a00:1": false, "2001:0:a00:1::": false, "2002:7f00:1::": false, "fec0::1": false, "fec0::1%eth0": false,
	} {
		require.Equal(t, public, isPublic(netip.MustParseAddr(address)), address)
	}
}

func TestDefaultClientRefusesPrivateAddresses(t *testing.T) {
	hits := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
	defer s.Close()
	_, err := newPublicClient(false).Get(s.URL)
	require.ErrorContains(t, err, "is not public (TransportOptions.HTTPClient can allow it)")
	require.Zero(t, hits)
	for server, inside := range map[string]bool{serverURL: false, "http://localhost/mcp": true} {
		tr, err := NewTransport(server, &TransportOptions{Grant: &ClientCredentials{}})
		require.NoError(t, err)
		res, err := tr.opts.HTTPClient.Get(s.URL)
		require.Equal(t, inside, err == nil, server)
		if err == nil {
			res.Body.Close()
			tr.opts.HTTPClient.CloseIdleConnections()
		}
	}
	hits = 0
	inside := newPublicClient(true)
	defer inside.CloseIdleConnections()
	res, err := inside.Get(s.URL)
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, 1, hits)
}

// roundTripFunc is a function that implements [http.RoundTripper].
type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// endlessBody is a body of spaces that never ends.
type endlessBody struct{}

func (endlessBody) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func (endlessBody) Close() error { return nil }

func TestFetcherLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{client: &http.Client{Transport: roundTripFunc(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: endlessBody{}}, nil
		})}}
		require.ErrorContains(t, f.getJSON(t.Context(), issuerURL, new(AuthorizationServerMetadata)), "longer than 1048576 bytes")

		f.client.Transport = roundTripFunc(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		begin := time.Now()
		require.ErrorIs(t, f.getJSON(t.Context(), issuerURL, new(AuthorizationServerMetadata)), context.DeadlineExceeded)
		require.Equal(t, 30*time.Second, time.Since(begin))
	})
}

func TestRedirectIsNotFollowed(t *testing.T) {
	hits := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits++
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer s.Close()
	client := newPublicClient(true)
	defer client.CloseIdleConnections()
	f := newFetcher(client)
	require.ErrorIs(t, f.getJSON(t.Context(), s.URL+"/here", new(AuthorizationServerMetadata)), errNotFound)
	require.Equal(t, 1, hits)
}

func TestErrorsRedactURLs(t *testing.T) {
	const at = "https://ada:s3cret@login.test/at?key=s3cret"
	status, body := http.StatusOK, "<html>"
	client := &http.Client{Transport: roundTripFunc(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
	})}
	f := newFetcher(client)
	verify, err := Introspection(&IntrospectionOptions{Endpoint: at, Client: OAuthClient{ClientID: "a"}, Issuer: issuerURL, HTTPClient: client})
	require.NoError(t, err)
	requests := []func() error{
		func() error { return f.getJSON(t.Context(), at, new(AuthorizationServerMetadata)) },
		func() error { _, err := (&keySource{f, issuerURL, at}).fetch(t.Context()); return err },
		func() error { _, err := verify(t.Context(), "opaque"); return err },
	}
	for status, body = range map[int]string{200: "<html>", 404: "", 500: "", 400: `{"error":"invalid_request"}`} {
		for _, request := range requests {
			err := request()
			require.ErrorContains(t, err, "login.test")
			require.NotContains(t, err.Error(), "s3cret")
		}
	}
	for _, at := range []string{at, "https://ada:s3cret@login.test:x", "http://ada:s3cret@login.test"} {
		_, err := parseIdentifierURL(at)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "s3cret")
	}
	_, err = (&fetcher{}).checkURL("https://ada:s3cret@localhost")
	require.ErrorContains(t, err, "is a loopback address")
	require.NotContains(t, err.Error(), "s3cret")
}

func TestCheckURL(t *testing.T) {
	for _, c := range []struct {
		url                  string
		plain, local, remote bool // whether the URL is accepted: with allowInsecure, with allowLoopback, with neither
	}{
		{"https://login.test", true, true, true},
		{"http://login.test", true, false, false},
		{"http://localhost:1", true, true, false},
		{"https://127.0.0.1", true, true, false},
		{"https://x.localhost", true, true, false},
		{"http://x-localhost", true, false, false},
		{"http://[::ffff:127.0.0.1]:1", true, true, false},
		{"mailto:x@login.test", false, false, false},
		{"//login.test", false, false, false},
		{"https:///x", false, false, false},
		{"https://login.test\n", false, false, false},
	} {
		for name, used := range map[string]bool{"plain": c.plain, "local": c.local, "remote": c.remote} {
			f := &fetcher{allowInsecure: name == "plain", allowLoopback: name == "local"}
			_, err := f.checkURL(c.url)
			require.Equal(t, used, err == nil, "%s %s: %v", name, c.url, err)
		}
	}
}
