package auth

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhichAddressesArePublic(t *testing.T) {
	for address, public := range map[string]bool{
		"93.184.215.14": true, "2606:2800:21f:cb07:6820:80da:af6b:8b2c": true,
		"127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"fe80::1": false, "fd00::1": false, "0.0.0.0": false, "::": false, "224.0.0.1": false, "100.64.0.1": false, "255.255.255.255": false,
	} {
		require.Equal(t, public, isPublic(netip.MustParseAddr(address)), address)
	}
}

func TestTheOwnClientReachesNothingInside(t *testing.T) {
	hits := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
	defer s.Close()
	_, err := newGuardedClient(false).Get(s.URL)
	require.ErrorContains(t, err, "is not of the public network (TransportOptions.Client can say otherwise)")
	require.Zero(t, hits)
	inside := newGuardedClient(true)
	defer inside.CloseIdleConnections()
	res, err := inside.Get(s.URL)
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, 1, hits)
}

func TestARedirectIsNotFollowed(t *testing.T) {
	hits := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits++
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer s.Close()
	client := newGuardedClient(true)
	defer client.CloseIdleConnections()
	f := newFetcher(client)
	require.ErrorIs(t, f.document(t.Context(), s.URL+"/here", new(ServerMetadata)), errNotThere)
	require.Equal(t, 1, hits)
}

func TestWhichURLsAreUsed(t *testing.T) {
	for _, c := range []struct {
		url                  string
		plain, local, remote bool // whether it is used without TLS allowed, by a server here, by one elsewhere
	}{
		{"https://login.test", true, true, true},
		{"http://login.test", true, false, false},
		{"http://localhost:1", true, true, false},
		{"https://127.0.0.1", true, true, false},
		{"https://x.localhost", true, true, false},
		{"mailto:x@login.test", false, false, false},
		{"//login.test", false, false, false},
		{"https:///x", false, false, false},
		{"https://login.test\n", false, false, false},
	} {
		for name, used := range map[string]bool{"plain": c.plain, "local": c.local, "remote": c.remote} {
			f := &fetcher{insecure: name == "plain", local: name == "local"}
			_, err := f.check(c.url)
			require.Equal(t, used, err == nil, "%s %s: %v", name, c.url, err)
		}
	}
}
