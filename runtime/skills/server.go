package skills

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	generated "github.com/mcpwright/mcp/generated/skills"
	"github.com/mcpwright/mcp/runtime/internal/extension"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/skills/internal/skillfiles"
)

// Options configure [Add]. The zero value and a nil pointer are ready to use.
type Options struct {
	// Prefix begins the paths of the skills in their URIs: with the prefix "acme/billing", the
	// skill in the directory "refunds" has the URI "skill://acme/billing/refunds/SKILL.md". If
	// SKILL.md is at the root of the file system, the last element of the prefix is the name of
	// the skill.
	Prefix string
}

// Add publishes the skills in a file system. A skill is a directory with a file SKILL.md, which begins
// with front matter that contains the name of the directory and a description. All other files below
// the directory are part of the skill, except for names that begin with ".".
//
// The files are resources: clients read them with resources/read. SKILL.md files are listed as
// resources, and the other files are not. [mcpserver.Options].Filter hides a skill and its files if it
// hides the resource of SKILL.md.
//
// Add reads all files once, for their digests, and does not store the contents. A file is read again
// for each request, and the request fails if the file has changed. Call Add again to publish the
// changes: a skill replaces the skill with the same URI, and all skills below it. Clients that are
// subscribed to a changed file are notified.
//
// Add publishes nothing if it returns an error. A file system without skills, a directory with files
// and no skill, invalid front matter, symbolic links, other irregular files, more than 512 files or
// 16 MiB in one skill, and a skill inside another one that an earlier call has added are errors. The
// first call must be made before the server begins to serve.
func Add(s *mcpserver.Server, fsys fs.FS, opts *Options) error {
	if err := add(s, fsys, opts); err != nil {
		return fmt.Errorf("add skills: %w", err)
	}
	return nil
}

func add(s *mcpserver.Server, fsys fs.FS, opts *Options) error {
	if opts == nil {
		opts = new(Options)
	}
	added, err := skillfiles.Scan(fsys, opts.Prefix)
	if err != nil {
		return err
	}
	h := &handlers{s.Extensible()}
	var before, now *catalog
	err = h.server.ChangeResources(func(old extension.Resources) (*extension.Change, error) {
		before = catalogOf(old)
		removed, err := before.replaced(added)
		if err != nil {
			return nil, err
		}
		change := before.change(removed, added)
		now = change.Resources.(*catalog)
		change.Methods = []string{generated.MethodListSkills, generated.MethodGetSkill, generated.MethodReadResourceDirectory}
		change.Register = h.register
		return change, nil
	})
	if err != nil {
		return err
	}
	h.warnOfEqualNames(now)
	for _, uri := range now.changedSince(before) {
		if err := s.ResourceUpdated(context.Background(), uri); err != nil {
			h.server.Logger().Error("cannot publish event", "uri", uri, "error", err)
		}
	}
	return nil
}

// Remove removes skills by the URIs of their SKILL.md files. URIs of other skills are ignored.
// Nested skills remain, and files that are part of another skill can still be read.
func Remove(s *mcpserver.Server, uris ...string) {
	_ = s.Extensible().ChangeResources(func(old extension.Resources) (*extension.Change, error) { // the error is nil
		before := catalogOf(old)
		if !slices.ContainsFunc(uris, func(uri string) bool { return before.byURI[uri] != nil }) {
			return nil, nil
		}
		return before.change(uris, nil), nil
	})
}

// handlers handle the methods of the extension.
type handlers struct{ server extension.Server }

func (h *handlers) catalog() *catalog { return catalogOf(h.server.Resources()) }

func (h *handlers) register(m *peer.Mux) {
	peer.Handle(m, h.list)
	peer.Handle(m, h.get)
	peer.Handle(m, h.readDirectory)
}

// warnOfEqualNames logs a name that several skills have. Names should be unique.
func (h *handlers) warnOfEqualNames(c *catalog) {
	uris := make(map[string]string)
	for _, x := range c.list {
		name := x.Entry.Frontmatter.Name
		if other, has := uris[name]; has {
			h.server.Logger().Warn("skills have the same name", "name", name, "uri", other, "other", x.Entry.URI)
		}
		uris[name] = x.Entry.URI
	}
}

// maxPageFiles limits the files of all skills of a page. A skill has at most 512.
const maxPageFiles = 4096

func (h *handlers) list(ctx context.Context, req *generated.ListSkillsRequest) (*generated.ListSkillsResult, error) {
	files := 0
	page, next, err := page(h, "skill", h.catalog().list, req.Cursor, func(x *skillfiles.Skill) (string, bool) {
		return x.Entry.URI, h.server.ShowsResource(ctx, x.Entry.URI)
	}, func(x *skillfiles.Skill) bool {
		files += len(x.Files)
		return files <= maxPageFiles
	})
	if err != nil {
		return nil, err
	}
	res := &generated.ListSkillsResult{Skills: make([]Skill, len(page)), NextCursor: next}
	for i, x := range page {
		res.Skills[i] = x.Entry
	}
	h.server.SetCacheHint(req.Method(), &res.TTLMs, &res.CacheScope)
	return res, nil
}

func (h *handlers) get(ctx context.Context, req *generated.GetSkillRequest) (*generated.GetSkillResult, error) {
	skill := h.catalog().byURI[req.URI]
	if skill == nil || !h.server.ShowsResource(ctx, req.URI) {
		return nil, invalid(fmt.Sprintf("No skill has the URI %q", limit.URI(req.URI)))
	}
	res := &generated.GetSkillResult{Skill: skill.Entry}
	h.server.SetCacheHint(req.Method(), &res.TTLMs, &res.CacheScope)
	return res, nil
}

func (h *handlers) readDirectory(ctx context.Context, req *generated.ReadResourceDirectoryRequest) (*generated.ReadResourceDirectoryResult, error) {
	dir := h.catalog().dirs[req.URI]
	if dir == nil || !h.showsAny(ctx, dir.owners) {
		return nil, invalid(fmt.Sprintf("No directory has the URI %q", limit.URI(req.URI)))
	}
	page, next, err := page(h, "directory", dir.children, req.Cursor, func(x child) (string, bool) {
		return x.resource.URI, h.showsAny(ctx, x.owners)
	}, func(child) bool { return true })
	if err != nil {
		return nil, err
	}
	res := &generated.ReadResourceDirectoryResult{Resources: make([]mcp.Resource, len(page)), NextCursor: next}
	for i, x := range page {
		res.Resources[i] = x.resource
	}
	return res, nil
}

// showsAny reports whether the caller may access one of the skills.
func (h *handlers) showsAny(ctx context.Context, uris []string) bool {
	return slices.ContainsFunc(uris, func(uri string) bool { return h.server.ShowsResource(ctx, uri) })
}

// page returns one page of the visible items, and the cursor of the next page. The items are sorted by
// URI. The function show returns the URI of an item, and reports whether the caller may access it. The
// function fits reports whether an item fits on the page after the previous ones; the first item always
// does.
func page[T any](h *handlers, kind string, items []T, cursor *string, show func(T) (uri string, visible bool), fits func(T) bool) (page []T, next *string, err error) {
	after, ok := "", true
	if cursor != nil {
		if after, ok = extension.CursorKey(kind, *cursor); !ok {
			return nil, nil, invalid("Invalid cursor")
		}
	}
	last := ""
	for _, x := range items {
		uri, visible := show(x)
		if uri <= after && cursor != nil || !visible {
			continue
		}
		if !fits(x) && len(page) > 0 || len(page) == h.server.PageSize() {
			return page, new(extension.Cursor(kind, last)), nil
		}
		page, last = append(page, x), uri
	}
	return page, nil, nil
}

func invalid(message string) error {
	return &peer.Error{Code: mcp.CodeInvalidParams, Message: message}
}
