package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	generated "github.com/mcpwright/mcp/generated/skills"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/skills"
	"github.com/mcpwright/mcp/runtime/wire"
)

const (
	refundsURI = "skill://acme/refunds/SKILL.md"
	pdfURI     = "skill://pdf/SKILL.md"
	nestedURI  = "skill://pdf/forms/SKILL.md"
)

func skillText(name string) string {
	return "---\nname: " + name + "\ndescription: Does a thing.\nmetadata:\n  version: \"1\"\n---\n# Title\n"
}

// skillFiles has two skills, and a third one in one of them.
func skillFiles() fstest.MapFS {
	fsys := fstest.MapFS{"pdf/logo.png": {Data: []byte("\x89PNG\xff")}, "pdf/texts/a b.md": {Data: []byte("ä")}}
	for _, dir := range []string{"acme/refunds", "pdf", "pdf/forms"} {
		fsys[dir+"/SKILL.md"] = &fstest.MapFile{Data: []byte(skillText(filepath.Base(dir)))}
	}
	return fsys
}

func skillServer(t *testing.T, opts *mcpserver.Options) *mcpserver.Server {
	if opts == nil {
		opts = &mcpserver.Options{PageSize: 2}
	}
	s := mcpserver.New(mcp.Implementation{Name: "skills", Version: "1"}, opts)
	require.NoError(t, skills.Add(s, skillFiles(), nil))
	return s
}

// overSkillTransports runs a test over a pipe, HTTP and in process, in both kinds of revisions.
func overSkillTransports(t *testing.T, s func() *mcpserver.Server, test func(t *testing.T, c *mcpclient.Client)) {
	for name, endpoint := range map[string]func(*testing.T) mcpclient.Endpoint{
		"pipe":       func(t *testing.T) mcpclient.Endpoint { return overPipe(t, s()) },
		"HTTP":       func(t *testing.T) mcpclient.Endpoint { return overHTTP(t, s(), nil) },
		"in process": func(*testing.T) mcpclient.Endpoint { return mcpclient.InProcess(s()) },
	} {
		for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
			t.Run(name+"/"+r.String(), func(t *testing.T) {
				test(t, connectIn(t, endpoint(t), r))
			})
		}
	}
}

func connectIn(t *testing.T, to mcpclient.Endpoint, r wire.Revision) *mcpclient.Client {
	c, err := mcpclient.Connect(t.Context(), to, &mcpclient.Options{Revision: r, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func listedSkills(t *testing.T, c *mcpclient.Client) (uris []string) {
	for x, err := range skills.List(t.Context(), c) {
		require.NoError(t, err)
		uris = append(uris, x.URI)
	}
	return uris
}

func directoryOf(t *testing.T, c *mcpclient.Client, uri string) (names []string) {
	for r, err := range skills.ReadDirectory(t.Context(), c, uri) {
		require.NoError(t, err)
		names = append(names, r.Name+" "+r.MIMEType)
	}
	return names
}

func TestSkillsAreServedAndVerified(t *testing.T) {
	overSkillTransports(t, func() *mcpserver.Server { return skillServer(t, nil) }, func(t *testing.T, c *mcpclient.Client) {
		settings, declared := generated.ServerSettings(c.ServerCapabilities())
		require.True(t, declared && settings.DirectoryRead)
		require.NotNil(t, c.ServerCapabilities().Resources)
		require.Equal(t, []string{refundsURI, pdfURI, nestedURI}, listedSkills(t, c)) // two pages

		entry, err := skills.Get(t.Context(), c, pdfURI)
		require.NoError(t, err)
		require.JSONEq(t, `{"version":"1"}`, string(entry.Frontmatter.Extra["metadata"]))
		skill, err := skills.Load(t.Context(), c, entry)
		require.NoError(t, err)
		require.Equal(t, skillText("pdf"), skill.Text)
		require.Equal(t, []string{"SKILL.md", "forms/SKILL.md", "logo.png", "texts/a b.md"}, skill.Files())
		for name, want := range map[string]string{"logo.png": "\x89PNG\xff", "./texts/a b.md": "ä", "forms/SKILL.md": skillText("forms")} {
			content, err := skill.ReadFile(t.Context(), name)
			require.NoError(t, err)
			require.Equal(t, want, string(content))
		}
		for _, name := range []string{"../acme/refunds/SKILL.md", "/SKILL.md", "texts", "", "missing.md"} {
			requireSkillProblem(t, readSkillFile(t, skill, name), skills.ProblemUnlisted)
		}

		require.Equal(t, []string{"pdf text/markdown", "forms inode/directory", "logo.png image/png", "texts inode/directory"}, directoryOf(t, c, "skill://pdf"))
		require.Equal(t, []string{"a b.md text/markdown"}, directoryOf(t, c, "skill://pdf/texts"))
		require.Equal(t, []string{"refunds inode/directory"}, directoryOf(t, c, "skill://acme"))

		var listed []string
		for r, err := range c.Resources(t.Context()) {
			require.NoError(t, err)
			listed = append(listed, r.URI)
		}
		require.Equal(t, []string{refundsURI, pdfURI, nestedURI}, listed)
	})
}

func readSkillFile(t *testing.T, s *skills.Loaded, name string) error {
	_, err := s.ReadFile(t.Context(), name)
	return err
}

func requireSkillProblem(t *testing.T, err error, want skills.Problem) *skills.Error {
	var e *skills.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, want, e.Problem, err)
	return e
}

func TestUnknownSkillsAndDirectories(t *testing.T) {
	overSkillTransports(t, func() *mcpserver.Server { return skillServer(t, nil) }, func(t *testing.T, c *mcpclient.Client) {
		invalid := func(req func() error) {
			require.Equal(t, int64(mcp.CodeInvalidParams), peer.AsError(req()).Code)
		}
		bad := "bm8"
		for _, uri := range []string{"skill://none/SKILL.md", "skill://pdf", "skill://pdf/logo.png", "", "skill://pdf/../pdf/SKILL.md"} {
			invalid(func() error { _, err := skills.Get(t.Context(), c, uri); return err })
		}
		for _, uri := range []string{pdfURI, "skill://", "skill://none", "skill://pdf/", "skill://pdf/.."} {
			invalid(func() error {
				for _, err := range skills.ReadDirectory(t.Context(), c, uri) {
					return err
				}
				return nil
			})
		}
		invalid(func() error {
			_, err := peer.SendRequest(t.Context(), c, &generated.ListSkillsRequest{Cursor: &bad})
			return err
		})
		for _, uri := range []string{"skill://pdf/none", "skill://pdf", "skill://pdf/texts/../logo.png"} {
			_, err := c.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: uri})
			require.Error(t, err, uri)
		}
	})
}

// A filter hides a skill with all its files, except for files that another skill contains too.
func TestFilterHidesSkills(t *testing.T) {
	opts := func() *mcpserver.Options {
		return &mcpserver.Options{Filter: func(_ context.Context, _ *mcp.ServerSession, i mcpserver.Item) bool {
			return i.Name != refundsURI && i.Name != nestedURI
		}}
	}
	overSkillTransports(t, func() *mcpserver.Server { return skillServer(t, opts()) }, func(t *testing.T, c *mcpclient.Client) {
		require.Equal(t, []string{pdfURI}, listedSkills(t, c))
		for _, uri := range []string{refundsURI, nestedURI} {
			_, err := skills.Get(t.Context(), c, uri)
			require.Error(t, err)
		}
		_, err := c.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: refundsURI})
		require.Error(t, err)
		_, err = c.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: nestedURI})
		require.NoError(t, err)
		for _, err := range skills.ReadDirectory(t.Context(), c, "skill://acme") {
			require.Error(t, err)
		}
	})
}

func TestSkillsAreReplacedAndRemoved(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, skillFiles()))
	s := mcpserver.New(mcp.Implementation{Name: "skills", Version: "1"}, &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, skills.Add(s, os.DirFS(dir), nil))
	c := connectIn(t, overPipe(t, s), mcp.Revision20260728)
	entry, err := skills.Get(t.Context(), c, pdfURI)
	require.NoError(t, err)

	watched, err := c.Listen(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"skill://pdf/texts/a%20b.md"}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pdf", "texts", "a b.md"), []byte("new text"), 0o600))
	skill, err := skills.Load(t.Context(), c, entry)
	require.NoError(t, err)
	require.Error(t, readSkillFile(t, skill, "texts/a b.md")) // the server refuses it, too

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "pdf", "forms")))
	require.NoError(t, skills.Add(s, os.DirFS(dir), nil))
	for n, err := range watched.All() {
		require.NoError(t, err)
		require.Equal(t, "skill://pdf/texts/a%20b.md", n.(*mcp.ResourceUpdatedNotification).URI)
		break
	}
	e := requireSkillProblem(t, readSkillFile(t, skill, "texts/a b.md"), skills.ProblemMismatch)
	require.Equal(t, "skill://pdf/texts/a%20b.md", e.File)
	require.ErrorContains(t, e, "has 8 bytes, but the entry has 2")
	require.Equal(t, []string{refundsURI, pdfURI}, listedSkills(t, c))

	require.ErrorContains(t, skills.Add(s, skillFiles(), &skills.Options{Prefix: "pdf/more"}), `skill "pdf/more/acme/refunds" is in the directory of skill "pdf"`)
	require.NoError(t, skills.Add(s, skillFiles(), &skills.Options{Prefix: "other"}))
	require.Len(t, listedSkills(t, c), 5)
	skills.Remove(s, refundsURI, "skill://none/SKILL.md", "skill://other/acme/refunds/SKILL.md")
	require.Equal(t, []string{"skill://other/pdf/SKILL.md", "skill://other/pdf/forms/SKILL.md", pdfURI}, listedSkills(t, c))
	_, err = c.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: refundsURI})
	require.Error(t, err)
}

func TestSkillsMustBeAddedBeforeServing(t *testing.T) {
	s := mcpserver.New(mcp.Implementation{}, nil)
	s.Dispatcher()
	require.EqualError(t, skills.Add(s, skillFiles(), nil), "add skills: the server has begun to serve")
	require.ErrorContains(t, skills.Add(skillServer(t, nil), fstest.MapFS{}, nil), "add skills: no directory has a file")

	s = mcpserver.New(mcp.Implementation{}, nil)
	mcpserver.Handle(s, func(context.Context, *generated.GetSkillRequest) (*generated.GetSkillResult, error) { return nil, nil })
	require.ErrorContains(t, skills.Add(s, skillFiles(), nil), `method "skills/get" already has a handler`)
}

func TestEqualNamesAreLogged(t *testing.T) {
	var log bytes.Buffer
	s := mcpserver.New(mcp.Implementation{}, &mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, skills.Add(s, skillFiles(), nil))
	require.Empty(t, log.String())
	require.NoError(t, skills.Add(s, skillFiles(), &skills.Options{Prefix: "other"}))
	require.Contains(t, log.String(), "skills have the same name")
}

func TestResultsOfSkillsHaveCacheHints(t *testing.T) {
	hints := map[string]mcpserver.CacheHint{generated.MethodListSkills: {TTL: time.Second}, generated.MethodGetSkill: {TTL: time.Minute}}
	c := connectIn(t, overPipe(t, skillServer(t, &mcpserver.Options{CacheHints: hints})), mcp.Revision20260728)
	list, err := peer.SendRequest(t.Context(), c, new(generated.ListSkillsRequest))
	require.NoError(t, err)
	require.Equal(t, int64(1000), list.TTLMs)
	one, err := peer.SendRequest(t.Context(), c, &generated.GetSkillRequest{URI: pdfURI})
	require.NoError(t, err)
	require.Equal(t, int64(60_000), one.TTLMs)
	require.Panics(t, func() {
		hints := map[string]mcpserver.CacheHint{generated.MethodReadResourceDirectory: {TTL: time.Second}}
		mcpserver.New(mcp.Implementation{}, &mcpserver.Options{CacheHints: hints})
	})
}

func TestServerWithoutSkillsIsRefused(t *testing.T) {
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		c := connectIn(t, overPipe(t, newServer(nil)), r)
		for _, err := range skills.List(t.Context(), c) {
			var lack *connection.CapabilityError
			require.ErrorAs(t, err, &lack)
		}
	}
}

func TestPagesOfSkillsHaveLimitedSize(t *testing.T) {
	fsys := fstest.MapFS{}
	for i := range 20 {
		name := fmt.Sprintf("s%02d", i)
		fsys[name+"/SKILL.md"] = &fstest.MapFile{Data: []byte(skillText(name))}
		for j := range 500 {
			fsys[fmt.Sprintf("%s/%d", name, j)] = &fstest.MapFile{}
		}
	}
	s := mcpserver.New(mcp.Implementation{}, nil)
	require.NoError(t, skills.Add(s, fsys, nil))
	c := connectIn(t, mcpclient.InProcess(s), mcp.Revision20260728)
	first, err := peer.SendRequest(t.Context(), c, &generated.ListSkillsRequest{})
	require.NoError(t, err)
	require.Len(t, first.Skills, 8)
	require.Len(t, listedSkills(t, c), 20)
}

// hostile returns a client of a server that returns an entry and contents.
func hostile(t *testing.T, entry *skills.Skill, contents func(uri string) []mcp.ResourceContents) *mcpclient.Client {
	s := mcpserver.New(mcp.Implementation{Name: "hostile", Version: "1"}, &mcpserver.Options{
		Extensions: map[string]json.RawMessage{skills.Name: nil}, Logger: slog.New(slog.DiscardHandler),
	})
	mcpserver.Handle(s, func(context.Context, *generated.GetSkillRequest) (*generated.GetSkillResult, error) {
		return &generated.GetSkillResult{Skill: *entry}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "skill://{+path}"}, func(_ context.Context, req *mcp.ReadResourceRequest, _ mcpserver.Variables) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: contents(req.URI)}, nil
	})
	return connectIn(t, mcpclient.InProcess(s), mcp.Revision20260728)
}

// pdfEntry returns the entry of the skill "pdf".
func pdfEntry(t *testing.T) *skills.Skill {
	c := connectIn(t, mcpclient.InProcess(skillServer(t, nil)), mcp.Revision20260728)
	entry, err := skills.Get(t.Context(), c, pdfURI)
	require.NoError(t, err)
	return entry
}

func TestHostileContentsAreRefused(t *testing.T) {
	text := func(uri, text string) mcp.ResourceContents { return &mcp.TextResourceContents{URI: uri, Text: text} }
	right := skillText("pdf")
	for problem, contents := range map[string]func(uri string) []mcp.ResourceContents{
		"the digest is sha256:": func(uri string) []mcp.ResourceContents {
			return []mcp.ResourceContents{text(uri, strings.ToUpper(right))}
		},
		"bytes, but the entry": func(uri string) []mcp.ResourceContents { return []mcp.ResourceContents{text(uri, right+"x")} },
		"not exactly one":      func(uri string) []mcp.ResourceContents { return []mcp.ResourceContents{text("skill://other", right)} },
		"has not exactly one co": func(uri string) []mcp.ResourceContents {
			return []mcp.ResourceContents{text(uri, right), text(uri, right)}
		},
		"exactly one content": func(uri string) []mcp.ResourceContents { return []mcp.ResourceContents{} },
	} {
		entry := pdfEntry(t)
		_, err := skills.Load(t.Context(), hostile(t, entry, contents), entry)
		e := requireSkillProblem(t, err, skills.ProblemMismatch)
		require.ErrorContains(t, e, problem)
		require.Equal(t, pdfURI, e.File)
	}

	c := hostile(t, pdfEntry(t), nil)
	_, err := skills.Get(t.Context(), c, "skill://other/SKILL.md")
	require.ErrorContains(t, requireSkillProblem(t, err, skills.ProblemInvalid), `has returned the entry for "skill://pdf/SKILL.md"`)
	for _, err := range skills.ReadDirectory(t.Context(), c, "skill://pdf") {
		require.ErrorContains(t, err, "io.modelcontextprotocol/skills.directoryRead")
	}
	entry := pdfEntry(t)
	entry.Resources = json.RawMessage(`[{"uri":"skill://pdf/../../etc/passwd","digest":"","size":1}]`)
	_, err = skills.Load(t.Context(), c, entry)
	require.Empty(t, requireSkillProblem(t, err, skills.ProblemInvalid).File)
}

func TestFrontmatterMustEqualEntry(t *testing.T) {
	entry := pdfEntry(t)
	right := func(uri string) []mcp.ResourceContents {
		return []mcp.ResourceContents{&mcp.BlobResourceContents{URI: uri, Blob: []byte(skillText("pdf"))}}
	}
	_, err := skills.Load(t.Context(), hostile(t, entry, right), entry)
	require.NoError(t, err)
	entry.Frontmatter.Extra = map[string]json.RawMessage{"metadata": json.RawMessage(`{"version":1}`)}
	_, err = skills.Load(t.Context(), hostile(t, entry, right), entry)
	require.ErrorContains(t, requireSkillProblem(t, err, skills.ProblemMismatch), `field "metadata" of the front matter differs`)
}

func TestDynamicSkillsAreLimited(t *testing.T) {
	entry := pdfEntry(t)
	entry.Resources = json.RawMessage(`"dynamic"`)
	c := hostile(t, entry, func(uri string) []mcp.ResourceContents {
		content := []byte(skillText("pdf"))
		if uri != pdfURI {
			content = make([]byte, 9<<20)
		}
		return []mcp.ResourceContents{&mcp.BlobResourceContents{URI: uri, Blob: content}}
	})
	skill, err := skills.Load(t.Context(), c, entry)
	require.NoError(t, err)
	require.Nil(t, skill.Files())
	require.NoError(t, readSkillFile(t, skill, "a b"))
	requireSkillProblem(t, readSkillFile(t, skill, "x"), skills.ProblemTooLarge)
	for _, name := range []string{"../x", "/x", ".", "..", `a\b`, "a/../../x"} {
		requireSkillProblem(t, readSkillFile(t, skill, name), skills.ProblemUnlisted)
	}
}
