package skillfiles

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/skills"
)

// files returns a file system with texts by path. The text "" of a SKILL.md file stands for valid
// front matter.
func files(texts map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for p, text := range texts {
		if path.Base(p) == Manifest && text == "" {
			text = fmt.Sprintf("---\nname: %s\ndescription: d\n---\n", path.Base(path.Dir(p)))
		}
		fsys[p] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestScan(t *testing.T) {
	list, err := Scan(files(map[string]string{
		"README.md": "ignored", "pdf/SKILL.md": "", "pdf/a b/ü.txt": "text", "pdf/logo.bin": "\xff\xfe", "pdf/.git/config": "ignored", "pdf/nested/SKILL.md": "",
		"acme/refunds/SKILL.md": "", "acme/notes.md": "ignored",
	}), "top")
	require.NoError(t, err)
	var uris []string
	for _, s := range list {
		uris = append(uris, s.Entry.URI)
		_, err := Hold(&s.Entry)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"skill://top/acme/refunds/SKILL.md", "skill://top/pdf/SKILL.md", "skill://top/pdf/nested/SKILL.md"}, uris)
	pdf := list[1]
	types := map[string]string{}
	for _, f := range pdf.Files {
		types[f.URI] = f.MIMEType
		content, err := f.Read()
		require.NoError(t, err)
		require.Equal(t, f.Digest, Sum(content))
	}
	require.Equal(t, map[string]string{
		"skill://top/pdf/SKILL.md": "text/markdown", "skill://top/pdf/nested/SKILL.md": "text/markdown",
		"skill://top/pdf/a%20b/%C3%BC.txt": "text/plain", "skill://top/pdf/logo.bin": "application/octet-stream",
	}, types)
	require.ElementsMatch(t, []string{"top/pdf/a b", "top/pdf/nested"}, pdf.Dirs)
	held, err := Hold(&pdf.Entry)
	require.NoError(t, err)
	require.Equal(t, []string{"SKILL.md", "a b/ü.txt", "logo.bin", "nested/SKILL.md"}, held.Paths())
}

func TestRootMayBeSkill(t *testing.T) {
	fsys := fstest.MapFS{Manifest: {Data: []byte("---\nname: refunds\ndescription: d\n---\n")}}
	list, err := Scan(fsys, "acme/refunds")
	require.NoError(t, err)
	require.Equal(t, "skill://acme/refunds/SKILL.md", list[0].Entry.URI)
	_, err = Scan(fsys, "")
	require.ErrorContains(t, err, "add the name as the prefix")
	_, err = Scan(fsys, "acme")
	require.ErrorContains(t, err, `the name is "refunds", but the directory is "acme"`)
}

func TestScanRefuses(t *testing.T) {
	many := map[string]string{"a/SKILL.md": ""}
	for i := range MaxFiles {
		many[fmt.Sprintf("a/%d", i)] = ""
	}
	big := strings.Repeat("x", MaxBytes/2)
	for problem, texts := range map[string]map[string]string{
		`no directory has a file "SKILL.md"`:                           {"README.md": ""},
		`directory "b" has the file "x.md", but no "SKILL.md"`:         {"a/SKILL.md": "", "b/x.md": ""},
		`file "a/Skill.md" must have the name "SKILL.md"`:              {"a/Skill.md": "x"},
		`file "a/SKILL.md": no front matter`:                           {"a/SKILL.md": "# A"},
		`file "a/SKILL.md": the name is "b", but the directory is "a"`: {"a/SKILL.md": "---\nname: b\ndescription: d\n---\n"},
		`file "A/SKILL.md": invalid name "A"`:                          {"A/SKILL.md": ""},
		`file "a/SKILL.md": file is not UTF-8`:                         {"a/SKILL.md": "---\nname: a\ndescription: d\n---\n\xff"},
		`file "a/n/SKILL.md": no front matter`:                         {"a/SKILL.md": "", "a/n/SKILL.md": "x"},
		`skill "a" has more than 512 files`:                            many,
		`skill "a" has more than 16777216 bytes in all its files`:      {"a/SKILL.md": "", "a/1": big, "a/2": big},
		`file "a/1" has 16777217 bytes, more than 16777216`:            {"a/SKILL.md": "", "a/1": big + big + "x"},
		`file "a/SKILL.md" is not a regular file: it is a directory`:   {"a/SKILL.md/x": ""},
		`invalid path "a/b\\c": control characters and backslashes`:    {"a/SKILL.md": "", `a/b\c`: ""},
		`more than 64 nested directories`:                              {"a/SKILL.md": "", "a" + strings.Repeat("/d", 70) + "/x": ""},
	} {
		_, err := Scan(files(texts), "")
		require.ErrorContains(t, err, problem)
	}
	for _, prefix := range []string{"/a", "a/", "..", "a/../b", ".", `a\b`, "a//b"} {
		_, err := Scan(files(map[string]string{"a/SKILL.md": ""}), prefix)
		require.ErrorContains(t, err, "prefix: invalid path", prefix)
	}
	_, err := Scan(nil, "")
	require.ErrorContains(t, err, "file system is nil")
	_, err = Scan(os.DirFS(filepath.Join(t.TempDir(), "missing")), "")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestScanRefusesSymbolicLinks(t *testing.T) {
	for _, target := range []string{"/etc/hostname", "SKILL.md", "../..", "missing"} {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, files(map[string]string{"a/SKILL.md": ""})))
		if os.Symlink(target, filepath.Join(dir, "a", "link")) != nil {
			t.Skip("no symbolic links")
		}
		_, err := Scan(os.DirFS(dir), "")
		require.ErrorContains(t, err, `file "a/link" is not a regular file: it is a symbolic link`)
	}
}

func TestReadRefusesChangedFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, files(map[string]string{"a/SKILL.md": "", "a/x": "text"})))
	list, err := Scan(os.DirFS(dir), "")
	require.NoError(t, err)
	f := list[0].Files[1]
	name := filepath.Join(dir, "a", "x")
	for text, problem := range map[string]string{"test": "has changed since its skill was added", "": "has changed since", "more text": "has 9 bytes, more than 4"} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		_, err := f.Read()
		require.ErrorContains(t, err, problem)
	}
	require.NoError(t, os.Remove(name))
	_, err = f.Read()
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestUTF8CheckerAcceptsAnyParts(t *testing.T) {
	for _, text := range []string{"", "abc", "äöü€😀", "a\xff", "\xe2\x82", "😀\xf0\x9f", "\x80"} {
		for size := 1; size <= 5; size++ {
			var c utf8Checker
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				c.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			require.Equal(t, strings.ToValidUTF8(text, "") == text, c.valid(), "%q in parts of %d", text, size)
		}
	}
}

// entry returns an entry with files.
func entry(uri, name string, files ...string) *skills.Skill {
	list := []skills.SkillResource{}
	for _, f := range files {
		list = append(list, skills.SkillResource{URI: f, Digest: Sum(nil).String()})
	}
	raw, _ := json.Marshal(list)
	return &skills.Skill{URI: uri, Frontmatter: skills.SkillFrontmatter{Name: name, Description: "d"}, Resources: raw}
}

func TestHoldRefuses(t *testing.T) {
	const a = "skill://a/SKILL.md"
	digest := func(text string) *skills.Skill {
		x := entry(a, "a", a)
		x.Resources = json.RawMessage(strings.ReplaceAll(string(x.Resources), Sum(nil).String(), text))
		return x
	}
	raw := func(text string) *skills.Skill {
		x := entry(a, "a")
		x.Resources = json.RawMessage(text)
		return x
	}
	require.Empty(t, held(t, raw(` "dynamic" `)).Paths())
	for problem, cases := range map[string][]*skills.Skill{
		"has not the form":               {entry("skill://a/skill.md", "a"), entry("a/SKILL.md", "a"), entry("skill:a/SKILL.md", "a"), entry("skill://a/SKILL.md?x", "a"), entry("skill://a#/SKILL.md", "a"), entry("", "a")},
		"the last segment":               {entry("skill://b/SKILL.md", "a"), entry("skill://%61/SKILL.md", "a")},
		"invalid segment":                {entry("skill://../a/SKILL.md", "a"), entry("skill://x/%2e%2e/a/SKILL.md", "a"), entry("skill://x//a/SKILL.md", "a"), entry("skill://x/%2f/a/SKILL.md", "a"), entry("skill://x/%5c/a/SKILL.md", "a")},
		"invalid name":                   {entry("skill://A/SKILL.md", "A")},
		"the list of files lacks":        {entry(a, "a"), entry(a, "a", "skill://a/x"), entry(a, "a", "skill://a/%53KILL.md")},
		"is outside of the skill":        {entry(a, "a", a, "skill://ab/x"), entry(a, "a", a, "skill://a"), entry(a, "a", a, "file:///etc/passwd")},
		`/../b": invalid segment`:        {entry(a, "a", a, "skill://a/../b")},
		`%2fb": invalid segment`:         {entry(a, "a", a, "skill://a/..%2fb")},
		"has a query or a fragment":      {entry(a, "a", a, "skill://a/x?y"), entry(a, "a", a, "skill://a/x#y")},
		"is listed more than once":       {entry(a, "a", a, a), entry(a, "a", a, "skill://a/x", "skill://a/%78")},
		"is both a file and a directory": {entry(a, "a", a, "skill://a/x", "skill://a/x/y")},
		`file 1, "skill://a/SKILL.md": `: {digest(""), digest("sha256:00"), digest("sha256:" + strings.Repeat("A", 64)), digest("md5:" + strings.Repeat("0", 64))},
		"neither a list":                 {raw(``), raw(`null`), raw(`"other"`), raw(`{}`)},
		"decode resources":               {raw(`[{"uri":1}]`), raw(`[{"uri":"skill://a/SKILL.md"}]`), raw(`[{"uri":"skill://a/SKILL.md","digest":"","size":-1}]`)},
	} {
		for _, x := range cases {
			_, err := Hold(x)
			require.ErrorContains(t, err, problem, "%s %s", x.URI, x.Resources)
		}
	}
}

func held(t *testing.T, x *skills.Skill) *Held {
	h, err := Hold(x)
	require.NoError(t, err)
	return h
}

func TestLimitsOfEntries(t *testing.T) {
	const a = "skill://a/SKILL.md"
	uris := []string{a}
	for i := range MaxFiles - 1 {
		uris = append(uris, fmt.Sprintf("skill://a/%d", i))
	}
	require.NoError(t, held(t, entry(a, "a", uris...)).CheckLimits())
	require.ErrorContains(t, held(t, entry(a, "a", append(uris, "skill://a/x")...)).CheckLimits(), "513 files")
	for size, ok := range map[string]bool{"16777216": true, "16777217": false, "9223372036854775807": false} {
		x := entry(a, "a", a, "skill://a/x")
		x.Resources = json.RawMessage(strings.Replace(string(x.Resources), `"size":0`, `"size":`+size, 1))
		require.Equal(t, ok, held(t, x).CheckLimits() == nil, size)
	}
}

// FuzzPath resolves URIs of files. A path stays in the skill, and has the URI of the file.
func FuzzPath(f *testing.F) {
	for _, uri := range []string{"skill://x/a/SKILL.md", "skill://x/a/b%20c", "skill://x/a/../b", "skill://x/a/%2e%2e/b", "skill://x/a/..%2fb", "skill://x/a//b", "skill://x/a/b?c", "skill://x/a/\x00", "skill://x/a/%5c"} {
		f.Add(uri)
	}
	root, err := ParseRoot("skill://x/a/SKILL.md", "a")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, uri string) {
		p, err := root.Path(uri)
		if err != nil {
			return
		}
		require.True(t, fs.ValidPath(p) && filepath.IsLocal(filepath.FromSlash(p)), p)
		require.NotContains(t, p, `\`)
		again, err := root.Path(root.URI(p))
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}
