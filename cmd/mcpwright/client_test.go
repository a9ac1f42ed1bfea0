package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/terminal"
)

func TestClient(t *testing.T) {
	s, url := newShell(t), serveHTTP(t, nil)
	printed := s.run("client", "-package", "kitchen", url)
	require.Zero(t, printed.status, printed.errs)
	require.Contains(t, printed.out, "package kitchen\n")
	require.Contains(t, printed.out, "//go:generate mcpwright client -package kitchen "+url+"\n")
	require.Contains(t, printed.out, "func (c *Client) Order(ctx context.Context, in OrderInput, opts ...peer.CallOption)")

	out := filepath.Join("food", "food.go")
	require.Equal(t, 1, s.run("client", "-check", "-out", out, url).status, "there is no file yet")
	written := s.run("client", "-out", out, url)
	require.Equal(t, result{0, "", ""}, written)
	source, err := os.ReadFile(filepath.Join(s.dir, out))
	require.NoError(t, err)
	require.Contains(t, string(source), "package food\n", "the name of the folder")
	require.Contains(t, string(source), "//go:generate mcpwright client -package food -out food.go "+url+"\n")
	require.Equal(t, result{0, "", ""}, s.run("client", "-check", "-out", out, url))

	other := serveHTTP(t, nil)
	require.Equal(t, result{0, "", ""}, s.run("client", "-check", "-out", out, other), "the address may differ")

	changed := strings.Replace(string(source), "func (c *Client) Order(", "func (c *Client) Ordered(", 1)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, out), []byte(changed), 0o600))
	got := s.run("client", "-check", "-out", out, url)
	require.Equal(t, 1, got.status)
	require.Regexp(t, `food.go:\d+: the file is not up to date with the tools of the server\n-func .*Ordered\(.*\n\+func .*Order\(`, got.errs)
	after, err := os.ReadFile(filepath.Join(s.dir, out))
	require.NoError(t, err)
	require.Equal(t, changed, string(after), "-check writes nothing")
}

func TestClientUsage(t *testing.T) {
	s, url := newShell(t), serveHTTP(t, nil)
	for _, args := range [][]string{
		{"client", url}, {"client", "-package", "func", url}, {"client", "-package", "a-b", url}, {"client", "-package", "a"}, {"client", "-check", "-package", "a", url},
		{"client", "-package", "a", url, "more"}, {"client", "-package", "main", url},
	} {
		require.Equal(t, 2, s.run(args...).status, args)
	}
	secret := s.run("client", "-package", "a", "-header", "X-Key: s3cret", url+"?key=s3cret")
	require.Zero(t, secret.status, secret.errs)
	require.NotContains(t, secret.out, "s3cret")
	require.Contains(t, secret.errs, "no line for go generate")
}

func TestDirectiveHasNoSecrets(t *testing.T) {
	g := &goClient{pkg: "a"}
	for _, server := range [][]string{
		{"server", "--api-key", "s3cret"}, {"server", "--token=s3cret"}, {"env", "API_TOKEN=s3cret", "server"}, {"server", "https://ada:s3cret@example.com"},
	} {
		var errs bytes.Buffer
		e := &environment{errs: terminal.NewFixed(&errs, 0)}
		require.Empty(t, g.directive(e, &arguments{server: server}), server)
		require.Contains(t, errs.String(), "no line for go generate")
	}
}

func TestDirectiveIsQuoted(t *testing.T) {
	g := &goClient{pkg: "a"}
	require.Equal(t, `mcpwright client -package a -- "a b" ${DOLLAR}HOME "\"" "\n" "" "`+"`"+`"`,
		g.directive(new(environment), &arguments{server: []string{"a b", "$HOME", `"`, "\n", "", "`"}}))
}

func TestDirectiveRunsInFolderOfFile(t *testing.T) {
	g := &goClient{pkg: "a", out: "a/b/b.go", connection: connection{config: "c.json"}}
	e := new(environment)
	e.place.Dir = "/work"
	require.Equal(t, `mcpwright client -package a -out b.go -config ../../c.json -- go run ../../server ./x ../../../y z`,
		g.directive(e, &arguments{server: []string{"go", "run", "./server", "./a/b/x", "../y", "z"}}))
}
