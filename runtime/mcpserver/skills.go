package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/generated/skills"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/skillfiles"
	"github.com/mcpwright/mcp/runtime/peer"
)

// SkillOptions configure [Server.AddSkills]. The zero value and a nil pointer are ready to use.
type SkillOptions struct {
	// Prefix begins the paths of the skills in their URIs: with the prefix "acme/billing", the
	// skill in the directory "refunds" has the URI "skill://acme/billing/refunds/SKILL.md". If
	// SKILL.md is at the root of the file system, the last element of the prefix is the name of
	// the skill.
	Prefix string
}

// AddSkills publishes the skills in a file system with the extension
// "io.modelcontextprotocol/skills". A skill is a directory with a file SKILL.md, which begins with
// front matter that contains the name of the directory and a description. All other files below
// the directory are part of the skill, except for names that begin with ".".
//
// The files are resources: clients read them with resources/read. SKILL.md files are listed as
// resources, and the other files are not. [Options].Filter hides a skill and its files if it hides
// the resource of SKILL.md.
//
// AddSkills reads all files once, for their digests, and does not store the contents. A file is
// read again for each request, and the request fails if the file has changed. Call AddSkills again
// to publish the changes: a skill replaces the skill with the same URI, and all skills below it.
// Clients that are subscribed to a changed file are notified.
//
// AddSkills publishes nothing if it returns an error. A file system without skills, a directory with
// files and no skill, invalid front matter, symbolic links, other irregular files, more than 512
// files or 16 MiB in one skill, and a skill inside another one that an earlier call has added are
// errors. The first call must be made before the server begins to serve.
func (s *Server) AddSkills(fsys fs.FS, opts *SkillOptions) error {
	if opts == nil {
		opts = new(SkillOptions)
	}
	added, err := skillfiles.Scan(fsys, opts.Prefix)
	if err != nil {
		return fmt.Errorf("add skills: %w", err)
	}
	if err := s.routeSkills(); err != nil {
		return fmt.Errorf("add skills: %w", err)
	}
	var changed []string
	s.change(Event{Method: mcp.MethodResourceListChanged}, func(c *catalog) bool {
		var removed []string
		if removed, err = c.skills.replaced(added); err != nil {
			return false
		}
		before := c.skills
		s.setSkills(c, removed, added)
		changed = c.skills.changedSince(&before)
		return true
	})
	if err != nil {
		return fmt.Errorf("add skills: %w", err)
	}
	s.warnOfEqualNames()
	for _, uri := range changed {
		if err := s.ResourceUpdated(context.Background(), uri); err != nil {
			s.opts.Logger.Error("cannot publish event", "uri", uri, "error", err)
		}
	}
	return nil
}

// RemoveSkills removes skills by the URIs of their SKILL.md files. URIs of other skills are ignored.
// Nested skills remain, and files that are part of another skill can still be read.
func (s *Server) RemoveSkills(uris ...string) {
	s.change(Event{Method: mcp.MethodResourceListChanged}, func(c *catalog) bool {
		before := len(c.skills.list)
		s.setSkills(c, uris, nil)
		return len(c.skills.list) < before
	})
}

// warnOfEqualNames logs a name that several skills have. Names should be unique.
func (s *Server) warnOfEqualNames() {
	uris := make(map[string]string)
	for _, x := range s.catalog.Load().skills.list {
		name := x.item.(*skillfiles.Skill).Entry.Frontmatter.Name
		if other, has := uris[name]; has {
			s.opts.Logger.Warn("skills have the same name", "name", name, "uri", other, "other", x.key)
		}
		uris[name] = x.key
	}
}

// routeSkills registers the methods of the extension, if they are not registered.
func (s *Server) routeSkills() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.routesSkills {
		return nil
	}
	if s.dispatcher != nil {
		return errors.New("the server has begun to serve without skills")
	}
	for _, method := range []string{skills.MethodListSkills, skills.MethodGetSkill, skills.MethodReadResourceDirectory} {
		if _, taken := s.mux.Extension(method); taken {
			return fmt.Errorf("method %q already has a handler", method)
		}
	}
	peer.Handle(&s.mux, s.listSkills)
	peer.Handle(&s.mux, s.getSkill)
	peer.Handle(&s.mux, s.readDirectory)
	s.routesSkills = true
	return nil
}

// declareSkills declares the extension and the capability for resources, which it requires.
func declareSkills(caps *mcp.ServerCapabilities) {
	if caps.Resources == nil {
		caps.Resources = &mcp.ResourcesCapability{ListChanged: true, Subscribe: true}
	}
	caps.Extensions = maps.Clone(caps.Extensions)
	// The error is nil: the settings are a JSON object.
	_ = skills.SetServerSettings(&caps.Extensions, &skills.SkillsCapability{DirectoryRead: true})
}

// Kinds of items in cursors.
const (
	kindSkill     Kind = "skill"
	kindDirectory Kind = "directory"
)

// maxPageFiles limits the files of all skills of a page. A skill has at most 512.
const maxPageFiles = 4096

func (s *Server) listSkills(ctx context.Context, req *skills.ListSkillsRequest) (*skills.ListSkillsResult, error) {
	all := s.catalog.Load().skills
	weight := func(item any) int { return len(item.(*skillfiles.Skill).Files) }
	page, next, err := skillPage(s, kindSkill, all.list, req.Cursor, weight, func(x entry) bool {
		return s.visible(ctx, KindResource, x.key)
	})
	if err != nil {
		return nil, err
	}
	res := &skills.ListSkillsResult{Skills: make([]skills.Skill, len(page)), NextCursor: next}
	for i, x := range page {
		res.Skills[i] = x.item.(*skillfiles.Skill).Entry
	}
	s.setCacheHint(req.Method(), &res.TTLMs, &res.CacheScope)
	return res, nil
}

func (s *Server) getSkill(ctx context.Context, req *skills.GetSkillRequest) (*skills.GetSkillResult, error) {
	skill := find[skillfiles.Skill](s.catalog.Load().skills.list, req.URI)
	if skill == nil || !s.visible(ctx, KindResource, req.URI) {
		return nil, invalid("No skill has the URI %q", limit.URI(req.URI))
	}
	res := &skills.GetSkillResult{Skill: skill.Entry}
	s.setCacheHint(req.Method(), &res.TTLMs, &res.CacheScope)
	return res, nil
}

func (s *Server) readDirectory(ctx context.Context, req *skills.ReadResourceDirectoryRequest) (*skills.ReadResourceDirectoryResult, error) {
	dir := s.catalog.Load().skills.dirs[req.URI]
	if dir == nil || !s.anyVisible(ctx, dir.owners) {
		return nil, invalid("No directory has the URI %q", limit.URI(req.URI))
	}
	page, next, err := skillPage(s, kindDirectory, dir.children, req.Cursor, nil, func(x entry) bool {
		return s.anyVisible(ctx, x.item.(*directoryEntry).owners)
	})
	if err != nil {
		return nil, err
	}
	res := &skills.ReadResourceDirectoryResult{Resources: make([]mcp.Resource, len(page)), NextCursor: next}
	for i, x := range page {
		res.Resources[i] = x.item.(*directoryEntry).resource
	}
	return res, nil
}

// anyVisible reports whether the caller may access one of the skills.
func (s *Server) anyVisible(ctx context.Context, uris []string) bool {
	return slices.ContainsFunc(uris, func(uri string) bool { return s.visible(ctx, KindResource, uri) })
}

// skillPage returns one page of the visible items, and the cursor of the next page. The weights of
// the items of a page have at most the sum maxPageFiles, unless the page has one item. A nil
// function means that items have no weight.
func skillPage(s *Server, kind Kind, items registry, cursor *string, weight func(item any) int, visible func(entry) bool) (registry, *string, error) {
	if cursor != nil {
		key, ok := decodeCursor(kind, *cursor)
		if !ok {
			return nil, nil, invalid("Invalid cursor")
		}
		items = items.after(key)
	}
	var page registry
	sum := 0
	for _, x := range items {
		if !visible(x) {
			continue
		}
		if weight != nil {
			sum += weight(x.item)
		}
		if len(page) == s.opts.PageSize || len(page) > 0 && sum > maxPageFiles {
			next := encodeCursor(kind, page[len(page)-1].key)
			return page, &next, nil
		}
		page = append(page, x)
	}
	return page, nil, nil
}

// readSkillFile returns a function that reads a file.
func readSkillFile(f *skillfiles.File) ResourceHandler {
	return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		content, err := f.Read()
		if err != nil {
			return nil, err
		}
		var c mcp.ResourceContents = &mcp.BlobResourceContents{URI: req.URI, Blob: content}
		if utf8.Valid(content) {
			c = &mcp.TextResourceContents{URI: req.URI, Text: string(content)}
		}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{c}}, nil
	}
}
