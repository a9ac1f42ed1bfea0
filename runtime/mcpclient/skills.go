package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/generated/skills"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/skillfiles"
	"github.com/mcpwright/mcp/runtime/peer"
)

// SkillProblem is the reason why a skill or a file must not be used.
type SkillProblem string

// The reasons why a skill or a file must not be used.
const (
	// SkillInvalid means that the entry of the skill breaks a rule of the extension.
	SkillInvalid SkillProblem = "invalid entry"
	// SkillTooLarge means that the skill has more than 512 files or 16 MiB.
	SkillTooLarge SkillProblem = "too large"
	// SkillUnlisted means that the entry does not list the file.
	SkillUnlisted SkillProblem = "unlisted file"
	// SkillMismatch means that the size, the digest or the front matter of the file differs from
	// the entry. The skill may have changed: [Client.Skill] returns the current entry.
	SkillMismatch SkillProblem = "mismatch"
)

// SkillError reports that a skill or one of its files must not be used.
type SkillError struct {
	// Skill is the URI of the SKILL.md file.
	Skill string
	// File is the URI of the file, or its path if it has no URI. It is empty if the entry is the
	// problem.
	File string
	// Problem is the reason.
	Problem SkillProblem
	// Err describes the problem.
	Err error
}

// Error implements error.
func (e *SkillError) Error() string {
	if e.File == "" {
		return fmt.Sprintf("skill %q: %s: %v", e.Skill, e.Problem, e.Err)
	}
	return fmt.Sprintf("file %q of skill %q: %s: %v", e.File, e.Skill, e.Problem, e.Err)
}

// Unwrap returns Err.
func (e *SkillError) Unwrap() error { return e.Err }

// Skills iterates over the skills that the server lists. A server may list only some of its skills;
// [Client.Skill] returns the other ones. It is an error if the server does not declare the extension
// "io.modelcontextprotocol/skills".
//
// No file is read. The entries are not checked before [Client.LoadSkill].
func (c *Client) Skills(ctx context.Context) iter.Seq2[*skills.Skill, error] {
	return peer.Pages(nil, func(req *skills.ListSkillsRequest, cursor *string) {
		req.Cursor = cursor
	}, func(req *skills.ListSkillsRequest) ([]skills.Skill, *string, error) {
		res, err := peer.SendRequest(ctx, c, req)
		if err != nil {
			return nil, nil, err
		}
		return res.Skills, res.NextCursor, nil
	})
}

// Skill returns the current entry for the skill whose SKILL.md file has the URI. The skill need not
// be listed.
func (c *Client) Skill(ctx context.Context, uri string) (*skills.Skill, error) {
	res, err := peer.SendRequest(ctx, c, &skills.GetSkillRequest{URI: uri})
	if err != nil {
		return nil, err
	}
	if res.Skill.URI != uri {
		return nil, &SkillError{Skill: uri, Problem: SkillInvalid, Err: fmt.Errorf("the server has returned the entry for %q", res.Skill.URI)}
	}
	return &res.Skill, nil
}

// ReadDirectory iterates over the files and directories in a directory of the server, which may be a
// directory of a skill. Directories have the MIME type "inode/directory". It is an error if the
// server does not declare that it reads directories.
//
// For a skill whose entry lists its files, the list may be newer or older than the entry. It does
// not permit to read files that the entry does not list.
func (c *Client) ReadDirectory(ctx context.Context, uri string) iter.Seq2[*mcp.Resource, error] {
	return peer.Pages(&skills.ReadResourceDirectoryRequest{URI: uri}, func(req *skills.ReadResourceDirectoryRequest, cursor *string) {
		req.Cursor = cursor
	}, func(req *skills.ReadResourceDirectoryRequest) ([]mcp.Resource, *string, error) {
		caps := c.ServerCapabilities()
		if settings, declared := skills.ServerSettings(caps); declared && !settings.DirectoryRead {
			return nil, nil, &connection.CapabilityError{Method: req.Method(), Capability: "extensions." + skills.Name + ".directoryRead", Revision: c.Revision()}
		}
		res, err := peer.SendRequest(ctx, c, req)
		if err != nil {
			return nil, nil, err
		}
		return res.Resources, res.NextCursor, nil
	})
}

// LoadedSkill is a skill whose SKILL.md file has been read. All its files are compared with the
// entry with which it was loaded. It is safe for concurrent use.
//
// Text and files are untrusted input, even if they match the entry: the server supplies both.
type LoadedSkill struct {
	// Entry is the entry with which the skill was loaded. It must not be changed.
	Entry *skills.Skill
	// Text is the content of SKILL.md, with its front matter.
	Text string

	client *Client
	held   *skillfiles.Held
	read   atomic.Int64 // number of bytes, if the entry does not list the files
}

// LoadSkill checks an entry, reads its SKILL.md file, and compares the file with the entry. If the
// skill must not be used, the error is a [*SkillError]. LoadSkill reads no other file, and does not
// use the cache of the client.
//
// If the resources of the entry are "dynamic", only the front matter is compared. A program that
// does not accept such skills can refuse them by the entry.
func (c *Client) LoadSkill(ctx context.Context, entry *skills.Skill) (*LoadedSkill, error) {
	held, err := skillfiles.Hold(entry)
	if err != nil {
		return nil, &SkillError{Skill: entry.URI, Problem: SkillInvalid, Err: err}
	}
	if err := held.CheckLimits(); err != nil {
		return nil, &SkillError{Skill: entry.URI, Problem: SkillTooLarge, Err: err}
	}
	s := &LoadedSkill{Entry: entry, client: c, held: held}
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
// does not list them; then [Client.ReadDirectory] may.
func (s *LoadedSkill) Files() []string { return s.held.Paths() }

// ReadFile reads a file of the skill and compares it with the entry. The path is relative to the
// skill, as in a link in SKILL.md. A path that leaves the skill, a file that the entry does not
// list, and another size or digest are errors of the type [*SkillError].
func (s *LoadedSkill) ReadFile(ctx context.Context, name string) ([]byte, error) {
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
		if n := s.read.Add(int64(len(content))); n > skillfiles.MaxBytes {
			return nil, &SkillError{s.Entry.URI, uri, SkillTooLarge, fmt.Errorf("the files that were read have %d bytes, more than %d", n, skillfiles.MaxBytes)}
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

// uri returns the URI of a path.
func (s *LoadedSkill) uri(name string) (string, error) {
	clean := path.Clean(name)
	if f, listed := s.held.File(clean); listed {
		return f.URI, nil
	}
	if !s.held.Dynamic {
		return "", &SkillError{s.Entry.URI, name, SkillUnlisted, errors.New("the entry does not list the file")}
	}
	if err := skillfiles.CheckPath(clean); err != nil {
		return "", &SkillError{s.Entry.URI, name, SkillUnlisted, err}
	}
	return s.held.Root.URI(clean), nil
}

func (s *LoadedSkill) mismatch(uri string, err error) error {
	return &SkillError{s.Entry.URI, uri, SkillMismatch, err}
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
