// Package hostconfig reads the servers that the configuration files of MCP hosts declare.
package hostconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// A File is a configuration file.
type File struct {
	// Host is the program that the file belongs to.
	Host string `json:"host"`
	// Path is the name of the file.
	Path string `json:"file"`
	// Servers are sorted by name.
	Servers []Server `json:"servers"`
	// Err is not nil if the file cannot be read. It names the file.
	Err error `json:"-"`
}

// A Server is an entry of a file: a command or a URL.
type Server struct {
	// Name is unique in a file.
	Name string `json:"name"`
	// Command and Args start a server on its standard streams. Env is added to the environment,
	// and Dir is the working directory, or "" for the current one.
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"-"`
	Dir     string            `json:"dir,omitempty"`
	// URL is the address of a server over HTTP. Headers are sent with each request.
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"-"`
	// LegacySSE reports whether the file declares the transport HTTP+SSE of 2024-11-05.
	LegacySSE bool `json:"legacySse,omitempty"`
	// Disabled reports whether the host does not start the server.
	Disabled bool `json:"disabled,omitempty"`

	folder string // of the project, for ${workspaceFolder}
}

// A Place is where files are looked for.
type Place struct {
	// Dir is the working directory. Files of a project are looked for in Dir and its parents.
	Dir string
	// Home is the home directory of the user.
	Home string
	// OS is the operating system as in runtime.GOOS.
	OS string
	// Getenv returns the value of an environment variable, and reports whether it is set.
	Getenv func(name string) (string, bool)
}

// Find reads the files that exist: first the files of the project, the nearest folder first, then the
// files of the user.
func Find(at Place) []File {
	var files []File
	add := func(host, path, folder string) {
		if f, ok := read(host, path, folder); ok {
			files = append(files, f)
		}
	}
	for dir := at.Dir; dir != ""; {
		for _, c := range projectFiles {
			add(c.host, filepath.Join(dir, c.path), dir)
		}
		parent := filepath.Dir(dir)
		if parent == dir || dir == at.Home {
			break
		}
		dir = parent
	}
	for _, c := range userFiles(at) {
		add(c.host, c.path, at.Dir)
	}
	return slices.Clip(slices.CompactFunc(files, func(a, b File) bool { return a.Path == b.Path }))
}

// Read reads one file.
func Read(path string) (File, error) {
	f, ok := read(filepath.Base(path), path, filepath.Dir(path))
	if !ok {
		return f, fmt.Errorf("read configuration file %q: %w", path, fs.ErrNotExist)
	}
	return f, f.Err
}

type candidate struct{ host, path string }

var projectFiles = []candidate{
	{"project", ".mcp.json"},
	{"VS Code", filepath.Join(".vscode", "mcp.json")},
	{"Cursor", filepath.Join(".cursor", "mcp.json")},
}

// userFiles lists the files of a user.
func userFiles(at Place) []candidate {
	config := func(names ...string) string {
		switch at.OS {
		case "darwin":
			return filepath.Join(append([]string{at.Home, "Library", "Application Support"}, names...)...)
		case "windows":
			if dir, ok := at.Getenv("APPDATA"); ok {
				return filepath.Join(append([]string{dir}, names...)...)
			}
			return filepath.Join(append([]string{at.Home, "AppData", "Roaming"}, names...)...)
		}
		if dir, ok := at.Getenv("XDG_CONFIG_HOME"); ok && dir != "" {
			return filepath.Join(append([]string{dir}, names...)...)
		}
		return filepath.Join(append([]string{at.Home, ".config"}, names...)...)
	}
	return []candidate{
		{"Claude Code", filepath.Join(at.Home, ".claude.json")},
		{"Claude Desktop", config("Claude", "claude_desktop_config.json")},
		{"Cursor", filepath.Join(at.Home, ".cursor", "mcp.json")},
		{"VS Code", config("Code", "User", "mcp.json")},
		{"Windsurf", filepath.Join(at.Home, ".codeium", "windsurf", "mcp_config.json")},
	}
}

// maxFile limits the size of a file. Claude Code keeps its history in the same file.
const maxFile = 64 << 20

// read reads a file. It reports false if the file does not exist.
func read(host, path, folder string) (File, bool) {
	f := File{Host: host, Path: path}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, false
	}
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("the file has more than %d MiB", maxFile>>20)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err == nil {
		f.Servers, err = parse(data, folder)
	}
	if err != nil {
		f.Err = fmt.Errorf("read configuration file %q: %w", path, err)
	}
	return f, true
}

// document is the part of a file that declares servers.
type document struct {
	MCPServers map[string]entry   `json:"mcpServers"`
	Servers    map[string]entry   `json:"servers"`  // VS Code
	Projects   map[string]project `json:"projects"` // Claude Code, by folder
}

type project struct {
	MCPServers map[string]entry `json:"mcpServers"`
}

// entry is a server as the hosts write it.
type entry struct {
	Type      string            `json:"type"`
	Transport string            `json:"transport"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]any    `json:"env"`
	Dir       string            `json:"cwd"`
	URL       string            `json:"url"`
	ServerURL string            `json:"serverUrl"` // Windsurf
	HTTPURL   string            `json:"httpUrl"`
	Headers   map[string]string `json:"headers"`
	Disabled  bool              `json:"disabled"`
}

// parse reads a file, which may have comments and trailing commas.
func parse(data []byte, folder string) ([]Server, error) {
	if len(strings.TrimSpace(string(data))) == 0 {
		return nil, nil
	}
	clean, err := hujson.Standardize(data)
	if err != nil {
		return nil, err
	}
	var doc document
	if err := json.Unmarshal(clean, &doc); err != nil {
		return nil, err
	}
	all := maps.Clone(doc.Projects[folder].MCPServers)
	if all == nil {
		all = make(map[string]entry)
	}
	for _, list := range []map[string]entry{doc.MCPServers, doc.Servers} {
		for name, e := range list {
			if _, ok := all[name]; !ok { // the server of the project has precedence
				all[name] = e
			}
		}
	}
	var servers []Server
	for _, name := range slices.Sorted(maps.Keys(all)) {
		servers = append(servers, all[name].server(name, folder))
	}
	return servers, nil
}

// server returns the entry as a server, with its variables.
func (e entry) server(name, folder string) Server {
	s := Server{
		Name: name, Command: e.Command, Args: e.Args, Dir: e.Dir, Headers: e.Headers, Disabled: e.Disabled,
		LegacySSE: e.Type == "sse" || e.Transport == "sse", folder: folder,
	}
	for _, url := range []string{e.URL, e.ServerURL, e.HTTPURL} {
		if s.URL == "" {
			s.URL = url
		}
	}
	for key, value := range e.Env {
		if value == nil {
			continue // VS Code: the variable is removed
		}
		if s.Env == nil {
			s.Env = make(map[string]string)
		}
		s.Env[key] = fmt.Sprint(value)
	}
	return s
}
