package skills

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/mcpwright/mcp/generated/mcp"
	generated "github.com/mcpwright/mcp/generated/skills"
	"github.com/mcpwright/mcp/runtime/internal/extension"
	"github.com/mcpwright/mcp/runtime/skills/internal/skillfiles"
)

// catalog contains the skills at one moment. It is immutable. It implements [extension.Resources].
type catalog struct {
	list  []*skillfiles.Skill // sorted by the URI of SKILL.md
	byURI map[string]*skillfiles.Skill
	files map[string]*file      // by URI
	dirs  map[string]*directory // by URI
}

// file is a file of one or more skills.
type file struct {
	*skillfiles.File
	owners []string // URIs of the skills that contain it
}

// directory is a directory of skills, or around skills.
type directory struct {
	name     string
	children []child  // sorted by URI
	owners   []string // URIs of the skills that contain it, or that it contains
}

// child is a file or a directory in a directory.
type child struct {
	resource mcp.Resource
	owners   []string
}

// catalogOf returns the skills of a server.
func catalogOf(r extension.Resources) *catalog {
	if c, ok := r.(*catalog); ok {
		return c
	}
	return new(catalog)
}

// newCatalog returns a catalog of skills, by the URI of SKILL.md.
func newCatalog(byURI map[string]*skillfiles.Skill) *catalog {
	c := &catalog{byURI: byURI, files: make(map[string]*file), dirs: make(map[string]*directory)}
	uris := slices.Collect(maps.Keys(byURI))
	sort.Strings(uris)
	for _, uri := range uris {
		skill := byURI[uri]
		c.list = append(c.list, skill)
		for _, f := range skill.Files {
			if c.files[f.URI] == nil {
				c.files[f.URI] = &file{File: f}
			}
			c.files[f.URI].owners = append(c.files[f.URI].owners, uri)
		}
		c.addDirectory(skill.Path, uri)
		for p := range parents(skill.Path) {
			c.addDirectory(p, uri)
		}
		for _, p := range skill.Dirs {
			c.addDirectory(p, uri)
		}
	}
	for uri, d := range c.dirs {
		c.addChild(mcp.Resource{URI: uri, Name: d.name, MIMEType: "inode/directory"}, d.owners)
	}
	for uri, f := range c.files {
		c.addChild(resourceOf(f.File, byURI[uri]), f.owners)
	}
	for _, d := range c.dirs {
		sort.Slice(d.children, func(i, j int) bool { return d.children[i].resource.URI < d.children[j].resource.URI })
	}
	return c
}

// addDirectory adds a directory of a skill, or around it.
func (c *catalog) addDirectory(p, skill string) {
	uri := skillfiles.URI(p)
	d := c.dirs[uri]
	if d == nil {
		d = &directory{name: path.Base(p)}
		c.dirs[uri] = d
	}
	if n := len(d.owners); n == 0 || d.owners[n-1] != skill {
		d.owners = append(d.owners, skill)
	}
}

// addChild adds a file or a directory to the directory that contains it, if there is one.
func (c *catalog) addChild(r mcp.Resource, owners []string) {
	if parent := c.dirs[r.URI[:strings.LastIndexByte(r.URI, '/')]]; parent != nil {
		parent.children = append(parent.children, child{r, owners})
	}
}

// resourceOf returns the resource of a file. skill is the skill of a SKILL.md file, or nil.
func resourceOf(f *skillfiles.File, skill *skillfiles.Skill) mcp.Resource {
	r := mcp.Resource{URI: f.URI, Name: f.Name, MIMEType: f.MIMEType, Size: &f.Size}
	if skill != nil {
		r.Name, r.Description = skill.Entry.Frontmatter.Name, skill.Entry.Frontmatter.Description
	}
	return r
}

// replaced returns the URIs of the skills that new skills replace: those with the same URI, and
// those below a new skill. It returns an error if a new skill is in a skill that is not replaced.
func (c *catalog) replaced(added []*skillfiles.Skill) (uris []string, err error) {
	paths := make(map[string]bool, len(added)) // whether the skill is new
	for _, x := range c.list {
		paths[x.Path] = false
	}
	for _, x := range added {
		paths[x.Path] = true
	}
	for _, x := range added {
		for p := range parents(x.Path) {
			if isNew, is := paths[p]; is && !isNew {
				return nil, fmt.Errorf("skill %q is in the directory of skill %q, which has other files", x.Path, p)
			}
		}
	}
	for _, x := range c.list {
		is := paths[x.Path]
		for p := range parents(x.Path) {
			is = is || paths[p]
		}
		if is {
			uris = append(uris, x.Entry.URI)
		}
	}
	return uris, nil
}

// parents iterates over the directories that contain a path.
func parents(p string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for p = path.Dir(p); p != "." && yield(p); p = path.Dir(p) {
		}
	}
}

// change returns the change of the server that removes and adds skills.
func (c *catalog) change(removed []string, added []*skillfiles.Skill) *extension.Change {
	change := &extension.Change{Removed: make(map[string]bool)}
	skills := make(map[string]*skillfiles.Skill)
	maps.Copy(skills, c.byURI)
	for _, uri := range removed {
		if skills[uri] != nil {
			change.Removed[uri] = true
			delete(skills, uri)
		}
	}
	for _, x := range added {
		skills[x.Entry.URI] = x
	}
	now := newCatalog(skills)
	for _, x := range added {
		r, _ := now.Find(x.Entry.URI)
		change.Added = append(change.Added, r)
	}
	change.Resources = now
	return change
}

// changedSince returns the URIs of the files that differ from an earlier catalog.
func (c *catalog) changedSince(before *catalog) (uris []string) {
	for uri, f := range c.files {
		if old := before.files[uri]; old != nil && old.Digest != f.Digest {
			uris = append(uris, uri)
		}
	}
	sort.Strings(uris)
	return uris
}

// Find implements [extension.Resources].
func (c *catalog) Find(uri string) (r *extension.Resource, owners []string) {
	f := c.files[uri]
	if f == nil {
		return nil, nil
	}
	return &extension.Resource{Resource: resourceOf(f.File, c.byURI[uri]), Read: f.read}, f.owners
}

// read reads the file for a request.
func (f *file) read(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
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

// Declare implements [extension.Resources]. The extension requires the capability for resources.
func (c *catalog) Declare(caps *mcp.ServerCapabilities) {
	if caps.Resources == nil {
		caps.Resources = &mcp.ResourcesCapability{ListChanged: true, Subscribe: true}
	}
	caps.Extensions = maps.Clone(caps.Extensions)
	// The error is nil: the settings are a JSON object.
	_ = generated.SetServerSettings(&caps.Extensions, &generated.SkillsCapability{DirectoryRead: true})
}
