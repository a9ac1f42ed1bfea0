package mcpserver

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/skillfiles"
)

// skillCatalog contains the skills at one moment. It is immutable. The zero skillCatalog has none.
type skillCatalog struct {
	list  registry              // by the URI of SKILL.md
	files map[string]*skillFile // by URI
	dirs  map[string]*directory // by URI
}

// skillFile is a file of one or more skills.
type skillFile struct {
	file   *skillfiles.File
	owners []string // URIs of the skills that contain it
}

// directory is a directory of skills, or around skills.
type directory struct {
	name     string
	children registry // by URI
	owners   []string // URIs of the skills that contain it, or that it contains
}

// directoryEntry is a file or a directory in a directory.
type directoryEntry struct {
	resource mcp.Resource
	owners   []string
}

// replaced returns the URIs of the skills that new skills replace: those with the same URI, and
// those below a new skill. It returns an error if a new skill is in a skill that is not replaced.
func (c *skillCatalog) replaced(added []*skillfiles.Skill) (uris []string, err error) {
	paths := make(map[string]bool, len(added)) // whether the skill is new
	for _, x := range c.list {
		paths[x.item.(*skillfiles.Skill).Path] = false
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
		skill := x.item.(*skillfiles.Skill)
		is := paths[skill.Path]
		for p := range parents(skill.Path) {
			is = is || paths[p]
		}
		if is {
			uris = append(uris, x.key)
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

// setSkills removes and adds skills, with the resources of their SKILL.md files.
func (s *Server) setSkills(c *catalog, removed []string, added []*skillfiles.Skill) {
	gone := make(map[string]bool)
	for _, uri := range removed {
		gone[uri] = c.skills.list.has(uri)
	}
	list := make(registry, len(added))
	for i, x := range added {
		list[i] = entry{x.Entry.URI, x}
	}
	c.skills = newSkillCatalog(merged(c.skills.list, gone, list))
	manifests := make(registry, len(added))
	for i, x := range added {
		uri := x.Entry.URI
		f := c.skills.files[uri].file
		manifests[i] = entry{uri, &resource{Resource: skillResource(f, x), read: readSkillFile(f)}}
	}
	c.resources = merged(c.resources, gone, manifests)
}

// merged returns a registry without some items and with others, which replace items with the same
// key.
func merged(s registry, without map[string]bool, with registry) registry {
	all := make(map[string]any, len(s)+len(with))
	for _, x := range s {
		if !without[x.key] {
			all[x.key] = x.item
		}
	}
	for _, x := range with {
		all[x.key] = x.item
	}
	list := make(registry, 0, len(all))
	keys := slices.Collect(maps.Keys(all))
	sort.Strings(keys)
	for _, key := range keys {
		list = append(list, entry{key, all[key]})
	}
	return list
}

// newSkillCatalog returns the catalog of a list of skills.
func newSkillCatalog(list registry) skillCatalog {
	c := skillCatalog{list: list, files: make(map[string]*skillFile), dirs: make(map[string]*directory)}
	for _, x := range list {
		skill := x.item.(*skillfiles.Skill)
		for _, f := range skill.Files {
			if c.files[f.URI] == nil {
				c.files[f.URI] = &skillFile{file: f}
			}
			c.files[f.URI].owners = append(c.files[f.URI].owners, x.key)
		}
		c.addDirectory(skill.Path, x.key)
		for p := range parents(skill.Path) {
			c.addDirectory(p, x.key)
		}
		for _, p := range skill.Dirs {
			c.addDirectory(p, x.key)
		}
	}
	for uri, d := range c.dirs {
		c.addChild(mcp.Resource{URI: uri, Name: d.name, MIMEType: "inode/directory"}, d.owners)
	}
	for uri, f := range c.files {
		c.addChild(skillResource(f.file, find[skillfiles.Skill](list, uri)), f.owners)
	}
	for _, d := range c.dirs {
		sort.Slice(d.children, func(i, j int) bool { return d.children[i].key < d.children[j].key })
	}
	return c
}

// addDirectory adds a directory of a skill, or around it.
func (c *skillCatalog) addDirectory(p, skill string) {
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
func (c *skillCatalog) addChild(r mcp.Resource, owners []string) {
	if parent := c.dirs[r.URI[:strings.LastIndexByte(r.URI, '/')]]; parent != nil {
		parent.children = append(parent.children, entry{r.URI, &directoryEntry{r, owners}})
	}
}

// skillResource returns the resource of a file. skill is the skill of a SKILL.md file, or nil.
func skillResource(f *skillfiles.File, skill *skillfiles.Skill) mcp.Resource {
	r := mcp.Resource{URI: f.URI, Name: f.Name, MIMEType: f.MIMEType, Size: &f.Size}
	if skill != nil {
		r.Name, r.Description = skill.Entry.Frontmatter.Name, skill.Entry.Frontmatter.Description
	}
	return r
}

// changedSince returns the URIs of the files that differ from an earlier catalog.
func (c *skillCatalog) changedSince(before *skillCatalog) (uris []string) {
	for uri, f := range c.files {
		if old := before.files[uri]; old != nil && old.file.Digest != f.file.Digest {
			uris = append(uris, uri)
		}
	}
	sort.Strings(uris)
	return uris
}
