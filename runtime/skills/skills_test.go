package skills_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	generated "github.com/mcpwright/mcp/generated/skills"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/skills"
)

// texts are the texts of files by path. The text "" of a SKILL.md file stands for valid front matter.
type texts map[string]string

func (x texts) fs() fstest.MapFS {
	fsys := fstest.MapFS{}
	for p, text := range x {
		if path.Base(p) == "SKILL.md" && text == "" {
			text = skillText(path.Base(path.Dir(p)))
		}
		fsys[p] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func skillText(name string) string { return "---\nname: " + name + "\ndescription: d\n---\n" }

// newServer returns a server with skills.
func newServer(t *testing.T, fsys fs.FS, opts mcpserver.Options) *mcpserver.Server {
	t.Helper()
	opts.Logger = slog.New(slog.DiscardHandler)
	s := mcpserver.New(mcp.Implementation{Name: "skills", Version: "1"}, &opts)
	require.NoError(t, skills.Add(s, fsys, nil))
	return s
}

// connect returns a client of a server. Each message is validated.
func connect(t *testing.T, s *mcpserver.Server) *mcpclient.Client {
	t.Helper()
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStreams(context.Background(), far, far) }() // returns when the client disconnects
	pipe := mcptest.TapPipe(mcptest.Fail(t), near, mcptest.FromClient)
	c, err := mcpclient.Connect(t.Context(), mcpclient.Streams(pipe, pipe), &mcpclient.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Close()
		require.NoError(t, <-served)
	})
	return c
}

func load(t *testing.T, c skills.Client, uri string) *skills.Loaded {
	t.Helper()
	entry, err := skills.Get(t.Context(), c, uri)
	require.NoError(t, err)
	s, err := skills.Load(t.Context(), c, entry)
	require.NoError(t, err)
	return s
}

func listed(t *testing.T, c skills.Client) (uris []string) {
	t.Helper()
	for x, err := range skills.List(t.Context(), c) {
		require.NoError(t, err)
		uris = append(uris, x.URI)
	}
	return uris
}

func TestDirectoryIsServedAndRemoved(t *testing.T) {
	const a, b = "skill://a/SKILL.md", "skill://b/SKILL.md"
	s := newServer(t, texts{"a/SKILL.md": "", "a/texts/x.md": "text", "b/SKILL.md": ""}.fs(), mcpserver.Options{})
	c := connect(t, s)
	require.Equal(t, []string{a, b}, listed(t, c))
	skill := load(t, c, a)
	require.Equal(t, skillText("a"), skill.Text)
	content, err := skill.ReadFile(t.Context(), "texts/x.md")
	require.NoError(t, err)
	require.Equal(t, "text", string(content))

	changes, err := c.Listen(t.Context(), mcp.SubscriptionFilter{ResourcesListChanged: true})
	require.NoError(t, err)
	skills.Remove(s, "skill://a", "skill://none/SKILL.md") // no skills
	require.Equal(t, []string{a, b}, listed(t, c))
	skills.Remove(s, a)
	for n, err := range changes.All() {
		require.NoError(t, err)
		require.IsType(t, new(mcp.ResourceListChangedNotification), n)
		break
	}
	require.Equal(t, []string{b}, listed(t, c))
	_, err = skill.ReadFile(t.Context(), "texts/x.md")
	require.ErrorContains(t, err, `read file "skill://a/texts/x.md" of skill "skill://a/SKILL.md"`)
	require.Equal(t, int64(mcp.CodeInvalidParams), peer.AsError(err).Code)
	for _, err := range skills.ReadDirectory(t.Context(), c, "skill://a") {
		require.Equal(t, int64(mcp.CodeInvalidParams), peer.AsError(err).Code)
	}

	skills.Remove(s, b)
	require.Empty(t, listed(t, c))
	require.NoError(t, skills.Add(s, texts{"a/SKILL.md": ""}.fs(), nil), "the server has its methods already")
	require.Equal(t, []string{a}, listed(t, c))
}

// A client that reads the next page after a change misses only what has changed.
func TestPagesContinueAfterChanges(t *testing.T) {
	all := texts{}
	for i := range 5 {
		all[fmt.Sprintf("s%d/SKILL.md", i)] = ""
		all[fmt.Sprintf("s0/files/%d", i)] = ""
	}
	uri := func(i int) string { return fmt.Sprintf("skill://s%d/SKILL.md", i) }
	s := newServer(t, all.fs(), mcpserver.Options{PageSize: 2})
	c := connect(t, s)

	var got []string
	for x, err := range skills.List(t.Context(), c) {
		require.NoError(t, err)
		if got = append(got, x.URI); len(got) == 2 {
			skills.Remove(s, uri(1), uri(3)) // the cursor has the URI of the first one
		}
	}
	require.Equal(t, []string{uri(0), uri(1), uri(2), uri(4)}, got)

	var names []string
	for x, err := range skills.ReadDirectory(t.Context(), c, "skill://s0/files") {
		require.NoError(t, err)
		names = append(names, x.Name)
	}
	require.Equal(t, []string{"0", "1", "2", "3", "4"}, names)

	res, err := peer.SendRequest(t.Context(), c, &generated.ReadResourceDirectoryRequest{URI: "skill://s0/files"})
	require.NoError(t, err)
	require.Len(t, res.Resources, 2)
	_, err = peer.SendRequest(t.Context(), c, &generated.ListSkillsRequest{Cursor: res.NextCursor})
	require.Equal(t, "Invalid cursor", peer.AsError(err).Message, "it is the cursor of another list")
}

// TestMismatchNamesFile uses a server whose files differ from their entries.
func TestMismatchNamesFile(t *testing.T) {
	const a = "skill://a/SKILL.md"
	replaced := map[string]string{}
	s := newServer(t, texts{"a/SKILL.md": "", "a/x": "text", "a/b c": "text"}.fs(), mcpserver.Options{})
	s.Use(func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			req, ok := in.Message.(*mcp.ReadResourceRequest)
			if text, replace := replaced[uriOf(req)]; ok && replace {
				return peer.Reply{Result: &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: req.URI, Text: text}}}}, nil
			}
			return next.Handle(ctx, in)
		})
	})
	c := connect(t, s)
	skill := load(t, c, a)

	replaced["skill://a/x"] = "test"
	replaced["skill://a/b%20c"] = "more text"
	for name, want := range map[string]string{
		"x":   `file "skill://a/x" of skill "skill://a/SKILL.md": mismatch: the digest is sha256:`,
		"b c": `file "skill://a/b%20c" of skill "skill://a/SKILL.md": mismatch: the file has 9 bytes, but the entry has 4`,
	} {
		content, err := skill.ReadFile(t.Context(), name)
		require.ErrorContains(t, err, want)
		require.Nil(t, content)
		var e *skills.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, skills.ProblemMismatch, e.Problem)
	}
	replaced[a] = skillText("b")
	_, err := skills.Load(t.Context(), c, skill.Entry)
	require.ErrorContains(t, err, `file "skill://a/SKILL.md" of skill "skill://a/SKILL.md": mismatch: the digest is`)
}

func uriOf(req *mcp.ReadResourceRequest) string {
	if req == nil {
		return ""
	}
	return req.URI
}

// A file of a dynamic skill counts once, because a host may read it for each task of a model.
func TestFilesOfDynamicSkillCountOnce(t *testing.T) {
	s := newServer(t, texts{"a/SKILL.md": "", "a/x": strings.Repeat("x", 9<<20), "a/y": strings.Repeat("y", 6<<20)}.fs(), mcpserver.Options{})
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), nil)
	require.NoError(t, err)
	defer c.Close()
	entry, err := skills.Get(t.Context(), c, "skill://a/SKILL.md")
	require.NoError(t, err)
	entry.Resources = []byte(`"dynamic"`)
	skill, err := skills.Load(t.Context(), c, entry)
	require.NoError(t, err)
	for _, name := range []string{"x", "y", "x", "./x", "y", "SKILL.md"} {
		_, err := skill.ReadFile(t.Context(), name)
		require.NoError(t, err)
	}

	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "skill://a/more/{name}"}, func(_ context.Context, req *mcp.ReadResourceRequest, _ mcpserver.Variables) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: req.URI}}}, nil
	})
	for i := range 512 - 3 {
		_, err := skill.ReadFile(t.Context(), fmt.Sprintf("more/%d", i))
		require.NoError(t, err)
	}
	_, err = skill.ReadFile(t.Context(), "more/x")
	require.ErrorContains(t, err, `file "skill://a/more/x" of skill "skill://a/SKILL.md": too large: 513 files were read, more than 512`)
}

// An error of Add leaves the skills as they are.
func TestInvalidDirectoryChangesNothing(t *testing.T) {
	s := newServer(t, texts{"a/SKILL.md": ""}.fs(), mcpserver.Options{})
	c := connect(t, s)
	for problem, x := range map[string]texts{
		`add skills: no directory has a file "SKILL.md"`:           {"README.md": "x"},
		`add skills: directory "b" has the file "x"`:               {"a/SKILL.md": "", "b/x": ""},
		`add skills: file "b/SKILL.md": no front matter`:           {"a/SKILL.md": "", "b/SKILL.md": "# B"},
		`add skills: file "b/SKILL.md": the name is "c"`:           {"a/SKILL.md": "", "b/SKILL.md": skillText("c")},
		`add skills: file "b/x" has 16777217 bytes`:                {"a/SKILL.md": "", "b/SKILL.md": "", "b/x": strings.Repeat("x", 16<<20+1)},
		`add skills: file "SKILL.md" is at the root`:               {"SKILL.md": ""},
		`add skills: skill "a/b" is in the directory of skill "a"`: {"a/b/SKILL.md": ""},
	} {
		require.ErrorContains(t, skills.Add(s, x.fs(), nil), problem)
	}
	require.ErrorContains(t, skills.Add(s, nil, nil), "add skills: the file system is nil")
	require.Equal(t, []string{"skill://a/SKILL.md"}, listed(t, c))
	load(t, c, "skill://a/SKILL.md")
}

func TestFilesOfDeletedDirectoryCannotBeRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "skills")
	require.NoError(t, os.CopyFS(dir, texts{"a/SKILL.md": "", "a/x": "text"}.fs()))
	s := newServer(t, os.DirFS(dir), mcpserver.Options{})
	c := connect(t, s)
	skill := load(t, c, "skill://a/SKILL.md")
	require.NoError(t, os.RemoveAll(dir))

	_, err := skill.ReadFile(t.Context(), "x")
	require.ErrorContains(t, err, `read file "skill://a/x" of skill "skill://a/SKILL.md"`)
	require.NotContains(t, err.Error(), dir, "the client gets no path of the server")
	_, err = skills.Load(t.Context(), c, skill.Entry)
	require.ErrorContains(t, err, `read file "skill://a/SKILL.md"`)
	require.ErrorIs(t, skills.Add(s, os.DirFS(dir), nil), fs.ErrNotExist)
	require.Equal(t, []string{"skill://a/SKILL.md"}, listed(t, c), "the skills are removed only by Remove")
}

// Clients read while skills are replaced and removed. A skill is complete or missing.
func TestSkillsChangeWhileClientsRead(t *testing.T) {
	const uri = "skill://a/SKILL.md"
	versions := []fs.FS{texts{"a/SKILL.md": "", "a/x": "one"}.fs(), texts{"a/SKILL.md": "", "a/x": "three"}.fs()}
	s := newServer(t, versions[0], mcpserver.Options{})
	stop := make(chan struct{})
	var readers sync.WaitGroup
	read := func(c *mcpclient.Client) error {
		entry, err := skills.Get(t.Context(), c, uri)
		if err != nil {
			return err
		}
		skill, err := skills.Load(t.Context(), c, entry)
		if err != nil {
			return err
		}
		content, err := skill.ReadFile(t.Context(), "x")
		if err == nil && !slices.Contains([]string{"one", "three"}, string(content)) {
			err = fmt.Errorf("content %q", content)
		}
		return err
	}
	for range 4 {
		c := connect(t, s)
		readers.Go(func() { // ends after stop is closed
			for {
				err := read(c)
				if e, ok := errors.AsType[*skills.Error](err); ok && e.Problem == skills.ProblemMismatch {
					err = nil // it was replaced after its entry was read
				}
				if err != nil && peer.AsError(err).Code != int64(mcp.CodeInvalidParams) {
					t.Errorf("read: %v", err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 200 {
		if i%3 == 0 {
			skills.Remove(s, uri)
		}
		if err := skills.Add(s, versions[i%2], nil); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
	require.Equal(t, []string{uri}, listed(t, connect(t, s)))
}

func TestFileSystemThatFails(t *testing.T) {
	fsys := &failing{FS: texts{"a/SKILL.md": "", "a/x": "text"}.fs()}
	s := newServer(t, fsys, mcpserver.Options{})
	c := connect(t, s)
	skill := load(t, c, "skill://a/SKILL.md")
	fsys.set(io.ErrUnexpectedEOF)
	_, err := skill.ReadFile(t.Context(), "x")
	require.Equal(t, int64(mcp.CodeInternal), peer.AsError(err).Code)
	require.ErrorIs(t, skills.Add(s, fsys, nil), io.ErrUnexpectedEOF)
	fsys.set(nil)
	_, err = skill.ReadFile(t.Context(), "x")
	require.NoError(t, err)
}

// failing is a file system whose files can be opened, but not read.
type failing struct {
	fs.FS
	mu  sync.Mutex
	err error
}

func (f *failing) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *failing) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || f.err == nil || path.Base(name) != "x" {
		return file, err
	}
	return failingFile{file, f.err}, nil
}

type failingFile struct {
	fs.File
	err error
}

func (f failingFile) Read([]byte) (int, error) { return 0, f.err }
