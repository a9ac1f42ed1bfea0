package skills

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	generated "github.com/mcpwright/mcp/generated/skills"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/skills/internal/skillfiles"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Client is a client of a server with skills. A Client of package mcpclient implements it.
type Client interface {
	peer.Outbound
	// Uncached sends requests without a cache.
	Uncached() mcp.ServerPeer
	// ServerCapabilities returns the capabilities that the server declares.
	ServerCapabilities() *mcp.ServerCapabilities
	// Revision returns the revision in use.
	Revision() wire.Revision
}

// Problem is the reason why a skill or a file must not be used.
type Problem string

// The reasons why a skill or a file must not be used.
const (
	// ProblemInvalid means that the entry of the skill breaks a rule of the extension.
	ProblemInvalid Problem = "invalid entry"
	// ProblemTooLarge means that the skill has more than 512 files or 16 MiB.
	ProblemTooLarge Problem = "too large"
	// ProblemUnlisted means that the entry does not list the file.
	ProblemUnlisted Problem = "unlisted file"
	// ProblemMismatch means that the size, the digest or the front matter of the file differs from
	// the entry. The skill may have changed: [Get] returns the current entry.
	ProblemMismatch Problem = "mismatch"
)

// Error reports that a skill or one of its files must not be used.
type Error struct {
	// Skill is the URI of the SKILL.md file.
	Skill string
	// File is the URI of the file, or its path if it has no URI. It is empty if the entry is the
	// problem.
	File string
	// Problem is the reason.
	Problem Problem
	// Err describes the problem.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	if e.File == "" {
		return fmt.Sprintf("skill %q: %s: %v", e.Skill, e.Problem, e.Err)
	}
	return fmt.Sprintf("file %q of skill %q: %s: %v", e.File, e.Skill, e.Problem, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// List iterates over the skills that the server lists. A server may list only some of its skills;
// [Get] returns the other ones. It is an error if the server does not declare the extension
// "io.modelcontextprotocol/skills".
//
// No file is read. The entries are not checked before [Load].
func List(ctx context.Context, c Client) iter.Seq2[*Skill, error] {
	return peer.Pages(nil, func(req *generated.ListSkillsRequest, cursor *string) {
		req.Cursor = cursor
	}, func(req *generated.ListSkillsRequest) ([]Skill, *string, error) {
		res, err := peer.SendRequest(ctx, c, req)
		if err != nil {
			return nil, nil, err
		}
		return res.Skills, res.NextCursor, nil
	})
}

// Get returns the current entry for the skill whose SKILL.md file has the URI. The skill need not
// be listed.
func Get(ctx context.Context, c Client, uri string) (*Skill, error) {
	res, err := peer.SendRequest(ctx, c, &generated.GetSkillRequest{URI: uri})
	if err != nil {
		return nil, err
	}
	if res.Skill.URI != uri {
		return nil, &Error{Skill: uri, Problem: ProblemInvalid, Err: fmt.Errorf("the server has returned the entry for %q", res.Skill.URI)}
	}
	return &res.Skill, nil
}

// ReadDirectory iterates over the files and directories in a directory of the server, which may be a
// directory of a skill. Directories have the MIME type "inode/directory". It is an error if the
// server does not declare that it reads directories.
//
// For a skill whose entry lists its files, the list may be newer or older than the entry. It does
// not permit to read files that the entry does not list.
func ReadDirectory(ctx context.Context, c Client, uri string) iter.Seq2[*mcp.Resource, error] {
	return peer.Pages(&generated.ReadResourceDirectoryRequest{URI: uri}, func(req *generated.ReadResourceDirectoryRequest, cursor *string) {
		req.Cursor = cursor
	}, func(req *generated.ReadResourceDirectoryRequest) ([]mcp.Resource, *string, error) {
		caps := c.ServerCapabilities()
		if settings, declared := generated.ServerSettings(caps); declared && !settings.DirectoryRead {
			return nil, nil, &connection.CapabilityError{Method: req.Method(), Capability: "extensions." + generated.Name + ".directoryRead", Revision: c.Revision()}
		}
		res, err := peer.SendRequest(ctx, c, req)
		if err != nil {
			return nil, nil, err
		}
		return res.Resources, res.NextCursor, nil
	})
}

// Loaded is a skill whose SKILL.md file has been read. All its files are compared with the
// entry with which it was loaded. It is safe for concurrent use.
//
// Text and files are untrusted input, even if they match the entry: the server supplies both.
type Loaded struct {
	// Entry is the entry with which the skill was loaded. It must not be changed.
	Entry *Skill
	// Text is the content of SKILL.md, with its front matter.
	Text string

	client Client
	held   *skillfiles.Held

	mu   sync.Mutex
	read map[string]int // the largest size of each file that was read, if the entry does not list the files
}

// Load checks an entry, reads its SKILL.md file, and compares the file with the entry. If the
// skill must not be used, the error is a [*Error]. Load reads no other file, and does not
// use the cache of the client.
//
// If the resources of the entry are "dynamic", only the front matter is compared. A program that
// does not accept such skills can refuse them by the entry.
func Load(ctx context.Context, c Client, entry *Skill) (*Loaded, error) {
	held, err := skillfiles.Hold(entry)
	if err != nil {
		return nil, &Error{Skill: entry.URI, Problem: ProblemInvalid, Err: err}
	}
	if err := held.CheckLimits(); err != nil {
		return nil, &Error{Skill: entry.URI, Problem: ProblemTooLarge, Err: err}
	}
	s := &Loaded{Entry: entry, client: c, held: held, read: make(map[string]int)}
	content, err := s.ReadFile(ctx, skillfiles.Manifest)
	if err != nil {
		return nil, err
	}
	s.Text = string(content)
	front, err := skillfiles.ParseFrontmatter(content)
	if err != nil {
		return nil, s.mismatch(entry.URI, err)
	}
	if field := skillfiles.DifferentField(front, &entry.Frontmatter); field != "" {
		return nil, s.mismatch(entry.URI, fmt.Errorf("field %q of the front matter differs from the entry", field))
	}
	return s, nil
}

// Files returns the paths of all files relative to the skill, sorted. It returns nil if the entry
// does not list them; then [ReadDirectory] may.
func (s *Loaded) Files() []string { return s.held.Paths() }

// ReadFile reads a file of the skill and compares it with the entry. The path is relative to the
// skill, as in a link in SKILL.md. A path that leaves the skill, a file that the entry does not
// list, and another size or digest are errors of the type [*Error].
func (s *Loaded) ReadFile(ctx context.Context, name string) ([]byte, error) {
	uri, err := s.uri(name)
	if err != nil {
		return nil, err
	}
	res, err := s.client.Uncached().ReadResource(ctx, &mcp.ReadResourceRequest{URI: uri})
	if err != nil {
		return nil, fmt.Errorf("read file %q of skill %q: %w", uri, s.Entry.URI, err)
	}
	content, ok := contentOf(res, uri)
	if !ok {
		return nil, s.mismatch(uri, errors.New("the result has not exactly one content with this URI"))
	}
	if s.held.Dynamic {
		if err := s.count(uri, len(content)); err != nil {
			return nil, &Error{s.Entry.URI, uri, ProblemTooLarge, err}
		}
		return content, nil
	}
	want, _ := s.held.File(path.Clean(name))
	if n := int64(len(content)); n != want.Size {
		return nil, s.mismatch(uri, fmt.Errorf("the file has %d bytes, but the entry has %d", n, want.Size))
	}
	if have := skillfiles.Sum(content).String(); have != want.Digest {
		return nil, s.mismatch(uri, fmt.Errorf("the digest is %s, but the entry has %s", have, want.Digest))
	}
	return content, nil
}

// count adds the size of a file to the files that were read. It returns an error if they exceed the
// limits that all hosts support.
func (s *Loaded) count(uri string, size int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read[uri] = max(s.read[uri], size)
	total := 0
	for _, n := range s.read {
		total += n
	}
	if total > skillfiles.MaxBytes {
		return fmt.Errorf("the files that were read have %d bytes, more than %d", total, skillfiles.MaxBytes)
	}
	if n := len(s.read); n > skillfiles.MaxFiles {
		return fmt.Errorf("%d files were read, more than %d", n, skillfiles.MaxFiles)
	}
	return nil
}

// uri returns the URI of a path.
func (s *Loaded) uri(name string) (string, error) {
	clean := path.Clean(name)
	if f, listed := s.held.File(clean); listed {
		return f.URI, nil
	}
	if !s.held.Dynamic {
		return "", &Error{s.Entry.URI, name, ProblemUnlisted, errors.New("the entry does not list the file")}
	}
	if err := skillfiles.CheckPath(clean); err != nil {
		return "", &Error{s.Entry.URI, name, ProblemUnlisted, err}
	}
	return s.held.Root.URI(clean), nil
}

func (s *Loaded) mismatch(uri string, err error) error {
	return &Error{s.Entry.URI, uri, ProblemMismatch, err}
}

// contentOf returns the bytes of the only content with a URI.
func contentOf(res *mcp.ReadResourceResult, uri string) (content []byte, ok bool) {
	n := 0
	for _, c := range res.Contents {
		switch c := c.(type) {
		case *mcp.TextResourceContents:
			if c.URI == uri {
				n, content = n+1, []byte(c.Text)
			}
		case *mcp.BlobResourceContents:
			if c.URI == uri {
				n, content = n+1, c.Blob
			}
		}
	}
	return content, n == 1
}
