// Package skillfiles reads and checks skills: directories with a SKILL.md file. The server publishes
// them, and the client compares them with their entries.
package skillfiles

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/mcpwright/mcp/generated/skills"
)

// The limits of the extension, which every host supports.
const (
	// MaxFiles is the largest number of files of a skill.
	MaxFiles = 512
	// MaxBytes is the largest number of bytes of all files of a skill.
	MaxBytes = 16 << 20
)

// Digest is the SHA-256 digest of a file.
type Digest [sha256.Size]byte

// Sum returns the digest of bytes.
func Sum(b []byte) Digest { return sha256.Sum256(b) }

// String returns the digest as the extension writes it.
func (d Digest) String() string { return "sha256:" + hex.EncodeToString(d[:]) }

// File is a file of a skill. It is immutable.
type File struct {
	URI      string
	Name     string // the last segment of its path
	Size     int64
	Digest   Digest
	MIMEType string

	fsys fs.FS
	path string // in fsys
}

// Skill is a skill. It is immutable.
type Skill struct {
	Entry skills.Skill
	// Path is the path of the skill in URIs, without an escape sequence.
	Path string
	// Files are all files, including the files of nested skills, sorted by URI.
	Files []*File
	// Dirs are the paths of all directories below the skill in URIs, without an escape sequence.
	Dirs []string

	size int64 // of all files
}

// maxDepth limits the depth of directories.
const maxDepth = 64

// scanner reads the skills of a file system.
type scanner struct {
	fsys   fs.FS
	prefix string
	skills []*Skill
}

// Scan returns the skills of a file system, sorted by URI. Their paths in URIs are their paths in the
// file system after prefix, which may be empty. Names that begin with "." are ignored. Files in
// directories around skills are ignored too.
func Scan(fsys fs.FS, prefix string) ([]*Skill, error) {
	if fsys == nil {
		return nil, errors.New("the file system is nil")
	}
	if prefix != "" {
		if err := CheckPath(prefix); err != nil {
			return nil, fmt.Errorf("prefix: %w", err)
		}
	}
	s := &scanner{fsys: fsys, prefix: prefix}
	if err := s.directory(".", nil); err != nil {
		return nil, err
	}
	if len(s.skills) == 0 {
		return nil, fmt.Errorf("no directory has a file %q", Manifest)
	}
	sort.Slice(s.skills, func(i, j int) bool { return s.skills[i].Entry.URI < s.skills[j].Entry.URI })
	return s.skills, nil
}

// directory reads a directory, which is part of the skills around it.
func (s *scanner) directory(dir string, around []*Skill) error {
	if strings.Count(dir, "/") >= maxDepth {
		return fmt.Errorf("directory %q: more than %d nested directories", dir, maxDepth)
	}
	list, err := fs.ReadDir(s.fsys, dir)
	if err != nil {
		return fmt.Errorf("read directory %q: %w", dir, err)
	}
	list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	own, err := s.manifest(dir, list, around)
	if err != nil {
		return err
	}
	if own != nil {
		around = append(slices.Clip(around), own)
	}
	before, stray := len(s.skills), ""
	for _, e := range list {
		p := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			err = s.subdirectory(p, around)
		case len(around) == 0:
			stray = p
		case own == nil || e.Name() != Manifest:
			err = s.add(p, around, nil)
		}
		if err != nil {
			return err
		}
	}
	if own != nil {
		return own.complete()
	}
	if stray != "" && dir != "." && len(s.skills) == before {
		return fmt.Errorf("directory %q has the file %q, but no %q", dir, path.Base(stray), Manifest)
	}
	return nil
}

func (s *scanner) subdirectory(dir string, around []*Skill) error {
	if err := CheckPath(dir); err != nil {
		return err
	}
	for _, skill := range around {
		if len(skill.Dirs) == MaxFiles {
			return fmt.Errorf("skill %q has more than %d directories", skill.Path, MaxFiles)
		}
		skill.Dirs = append(skill.Dirs, path.Join(s.prefix, dir))
	}
	return s.directory(dir, around)
}

// manifest reads the SKILL.md file of a directory. It returns nil if there is none.
func (s *scanner) manifest(dir string, list []fs.DirEntry, around []*Skill) (*Skill, error) {
	i := slices.IndexFunc(list, func(e fs.DirEntry) bool { return e.Name() == Manifest })
	if i < 0 {
		i = slices.IndexFunc(list, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), Manifest) })
		if i >= 0 && len(around) == 0 {
			return nil, fmt.Errorf("file %q must have the name %q", path.Join(dir, list[i].Name()), Manifest)
		}
		return nil, nil
	}
	p := path.Join(dir, Manifest)
	at := path.Join(s.prefix, dir)
	if at == "." {
		return nil, fmt.Errorf("file %q is at the root of the file system, where its skill has no name: add the name as the prefix", p)
	}
	content, err := readFile(s.fsys, p, MaxBytes)
	if err != nil {
		return nil, err
	}
	front, err := ParseFrontmatter(content)
	if err == nil {
		err = CheckFrontmatter(front)
	}
	if err == nil && front.Name != path.Base(at) {
		err = fmt.Errorf("the name is %q, but the directory is %q", front.Name, path.Base(at))
	}
	if err != nil {
		return nil, fmt.Errorf("file %q: %w", p, err)
	}
	skill := &Skill{Path: at, Entry: skills.Skill{URI: URI(path.Join(at, Manifest)), Frontmatter: *front}}
	s.skills = append(s.skills, skill)
	return skill, s.add(p, append(slices.Clip(around), skill), content)
}

// add adds a file to the skills that contain it. content is nil if it has not been read.
func (s *scanner) add(p string, to []*Skill, content []byte) error {
	if err := CheckPath(p); err != nil {
		return err
	}
	f := &File{URI: URI(path.Join(s.prefix, p)), Name: path.Base(p), fsys: s.fsys, path: p}
	var err error
	if content != nil {
		f.Size, f.Digest, f.MIMEType = int64(len(content)), Sum(content), mimeType(p, true)
	} else {
		err = f.measure()
	}
	if err != nil {
		return err
	}
	for _, skill := range to {
		skill.size += f.Size
		switch {
		case len(skill.Files) == MaxFiles:
			return fmt.Errorf("skill %q has more than %d files", skill.Path, MaxFiles)
		case skill.size > MaxBytes:
			return fmt.Errorf("skill %q has more than %d bytes in all its files", skill.Path, MaxBytes)
		}
		skill.Files = append(skill.Files, f)
	}
	return nil
}

// complete adds the files to the entry.
func (s *Skill) complete() error {
	sort.Slice(s.Files, func(i, j int) bool { return s.Files[i].URI < s.Files[j].URI })
	list := make([]skills.SkillResource, len(s.Files))
	for i, f := range s.Files {
		list[i] = skills.SkillResource{URI: f.URI, Digest: f.Digest.String(), Size: f.Size}
	}
	var err error
	s.Entry.Resources, err = json.Marshal(list)
	return err
}

// open opens a regular file of at most max bytes.
func open(fsys fs.FS, p string, max int64) (fs.File, fs.FileInfo, error) {
	entry, err := fs.Lstat(fsys, p)
	if err != nil {
		return nil, nil, fmt.Errorf("read file %q: %w", p, err)
	}
	if !entry.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("file %q is not a regular file: it is a %s", p, kind(entry.Mode()))
	}
	f, err := fsys.Open(p)
	if err != nil {
		return nil, nil, fmt.Errorf("read file %q: %w", p, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("read file %q: %w", p, err)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("file %q is not a regular file", p)
	case info.Size() > max:
		err = fmt.Errorf("file %q has %d bytes, more than %d", p, info.Size(), max)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m.IsDir():
		return "directory"
	}
	return "file of mode " + m.String()
}

// readFile returns the bytes of a regular file. It refuses a file with more than max bytes.
func readFile(fsys fs.FS, p string, max int64) ([]byte, error) {
	f, info, err := open(fsys, p, max)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content := make([]byte, 0, info.Size()+1)
	for len(content) < cap(content) {
		n, err := f.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read file %q: %w", p, err)
		}
	}
	if int64(len(content)) != info.Size() {
		return nil, fmt.Errorf("read file %q: it has changed meanwhile", p)
	}
	return content, nil
}

// measure sets the size, digest and media type of the file. It does not store the content.
func (f *File) measure() error {
	file, info, err := open(f.fsys, f.path, MaxBytes)
	if err != nil {
		return err
	}
	defer file.Close()
	sum, text := sha256.New(), utf8Checker{}
	n, err := io.Copy(io.MultiWriter(sum, &text), io.LimitReader(file, info.Size()+1))
	if err != nil {
		return fmt.Errorf("read file %q: %w", f.path, err)
	}
	if n != info.Size() {
		return fmt.Errorf("read file %q: it has changed meanwhile", f.path)
	}
	f.Size, f.MIMEType = n, mimeType(f.path, text.valid())
	sum.Sum(f.Digest[:0])
	return nil
}

// Read returns the content of the file. It returns an error if the content has changed since the
// file was scanned.
func (f *File) Read() ([]byte, error) {
	content, err := readFile(f.fsys, f.path, f.Size)
	if err != nil {
		return nil, err
	}
	if int64(len(content)) != f.Size || Sum(content) != f.Digest {
		return nil, fmt.Errorf("file %q has changed since its skill was added", f.path)
	}
	return content, nil
}

// utf8Checker checks whether the bytes that are written to it are UTF-8.
type utf8Checker struct {
	rest    []byte // the beginning of a character
	invalid bool
}

// Write implements [io.Writer].
func (c *utf8Checker) Write(p []byte) (int, error) {
	n := len(p)
	if c.invalid {
		return n, nil
	}
	if len(c.rest) > 0 {
		p = append(c.rest, p...)
	}
	end := len(p)
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if utf8.RuneStart(p[len(p)-i]) {
			if !utf8.FullRune(p[len(p)-i:]) {
				end = len(p) - i
			}
			break
		}
	}
	c.invalid = !utf8.Valid(p[:end])
	c.rest = bytes.Clone(p[end:])
	return n, nil
}

func (c *utf8Checker) valid() bool { return !c.invalid && len(c.rest) == 0 }

// mimeTypes are the media types by the end of a name. They do not depend on the system.
var mimeTypes = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".txt": "text/plain", ".html": "text/html", ".htm": "text/html", ".css": "text/css", ".csv": "text/csv",
	".js": "text/javascript", ".mjs": "text/javascript", ".ts": "text/x-typescript", ".py": "text/x-python", ".sh": "text/x-shellscript", ".go": "text/x-go",
	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml", ".xml": "application/xml",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".pdf": "application/pdf", ".zip": "application/zip", ".wasm": "application/wasm",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}

func mimeType(p string, text bool) string {
	if t, known := mimeTypes[strings.ToLower(path.Ext(p))]; known {
		return t
	}
	if text {
		return "text/plain"
	}
	return "application/octet-stream"
}
