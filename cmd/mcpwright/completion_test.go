package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// completionShell returns a shell in a folder whose configuration file has the server "kitchen",
// and one that does not start.
func completionShell(t *testing.T) *shell {
	s := newShell(t)
	path, err := os.Executable()
	require.NoError(t, err)
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"kitchen": map[string]any{"command": path, "env": map[string]string{serveVariable: "1"}},
		"broken":  map[string]any{"command": filepath.Join(s.dir, "missing")},
		"bad\x1b": map[string]any{"command": path},
	}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, ".mcp.json"), config, 0o600))
	return s
}

// words returns the candidates without descriptions.
func words(out string) (list []string) {
	for line := range strings.Lines(out) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		list = append(list, word)
	}
	return list
}

func TestCompletion(t *testing.T) {
	s := completionShell(t)
	for _, test := range []struct {
		line string // the words up to the cursor, separated by spaces
		want string
	}{
		{"ca", "call"},
		{"call ", "broken kitchen"},
		{"call ki", "kitchen"},
		{"call -tim", "-timeout"},
		{"call -revision 2025-0", "2025-03-26 2025-06-18"},
		{"call -json kitchen o", "order"},
		{"call kitchen ", "order fail ask picture"},
		{"call kitchen order ", "dish= count= fresh= with="},
		{"call kitchen order dish=x co", "count="},
		{"call broken ", ""},
		{"call nothing ", ""},
		{"call -- ki", ""},
		{"read kitchen ", "kitchen://menu"},
		{"read kitchen kitchen://menu ", ""},
		{"watch kitchen kitchen://menu ", "kitchen://menu"},
		{"prompt kitchen ", "cook"},
		{"prompt kitchen cook ", "dish="},
		{"list kitchen to", "tools"},
		{"completion ", "bash zsh fish"},
		{"nothing ", ""},
	} {
		got := s.run(append([]string{completeWords}, strings.Split(test.line, " ")...)...)
		require.Equal(t, 0, got.status)
		require.Empty(t, got.errs)
		require.ElementsMatch(t, strings.Fields(test.want), words(got.out), test.line)
	}
}

// TestCompletionCache asks a server once, and again when the stored lists are old.
func TestCompletionCache(t *testing.T) {
	s := completionShell(t)
	ask := func() []string { return words(s.run(completeWords, "call", "kitchen", "o").out) }
	require.Equal(t, []string{"order"}, ask())
	files, err := filepath.Glob(filepath.Join(s.dir, "cache", "completion", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	require.NoError(t, os.WriteFile(files[0], []byte(`{"tools":[{"name":"only-stored","inputSchema":{"type":"object"}},{"name":"only-\u001b[31m","inputSchema":{"type":"object"}}]}`), 0o600))
	require.Equal(t, []string{"only-stored"}, words(s.run(completeWords, "call", "kitchen", "only").out), "from the cache, without control characters")
	old := time.Now().Add(-2 * completionAge)
	require.NoError(t, os.Chtimes(files[0], old, old))
	require.Equal(t, []string{"order"}, ask(), "from the server")
	require.NoError(t, os.WriteFile(files[0], []byte("{"), 0o600))
	require.Equal(t, []string{"order"}, ask(), "an invalid file is replaced")
}

// TestCompletionEndsServers completes with servers that do not answer, or do not end. Nothing is left running.
func TestCompletionEndsServers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("sh is not installed")
	}
	s := newShell(t)
	program, err := os.Executable()
	require.NoError(t, err)
	servers := map[string]any{}
	for name, script := range map[string]string{
		"mute":     "exec sleep 600",
		"stubborn": "trap '' TERM; while :; do sleep 1; done",
		"lingers":  serveVariable + "=1 '" + program + "'; exec sleep 600", // answers, and does not end with its input
	} {
		script = "echo $$ >" + name + ".pid; " + script
		servers[name] = map[string]any{"command": "sh", "args": []string{"-c", script}, "cwd": s.dir}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": servers})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, ".mcp.json"), config, 0o600))
	for name, want := range map[string][]string{"mute": nil, "stubborn": nil, "lingers": {"order"}} {
		t.Run(name, func(t *testing.T) {
			got := s.run(completeWords, "call", name, "o")
			require.Equal(t, 0, got.status)
			require.Empty(t, got.errs)
			require.Equal(t, want, words(got.out))
			data, err := os.ReadFile(filepath.Join(s.dir, name+".pid"))
			require.NoError(t, err)
			pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
			require.NoError(t, err)
			process, err := os.FindProcess(pid)
			if err == nil {
				require.Error(t, process.Signal(syscall.Signal(0)), "the server is still running")
			}
		})
	}
}

// runScript runs a script in a shell that has the program mcpwright, and returns its output.
func runScript(t *testing.T, name, script string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	s := completionShell(t)
	program, err := os.Executable()
	require.NoError(t, err)
	bin := filepath.Join(s.dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "mcpwright"), []byte("#!/bin/sh\n"+runVariable+"=1 exec '"+program+"' \"$@\"\n"), 0o700))
	cmd := exec.CommandContext(t.Context(), path, "-c", s.run("completion", name).out+script)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+s.dir, "XDG_CACHE_HOME="+filepath.Join(s.dir, "cache"), "XDG_CONFIG_HOME="+s.dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestBashCompletion(t *testing.T) {
	out := runScript(t, "bash", `
complete_line() { COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=(mcpwright); _mcpwright; printf '<%s>' "${COMPREPLY[@]}"; echo; }
complete -p mcpwright
complete_line "mcpwright call kitchen or"
complete_line "mcpwright call kitchen order di"
complete_line "mcpwright read kitchen kitchen://m"
complete_line "mcpwright completion "
`)
	require.Contains(t, out, "-F _mcpwright mcpwright\n<order>\n<dish=>\n<//menu>\n<bash><zsh><fish>\n")
}

func TestZshCompletion(t *testing.T) {
	out := runScript(t, "zsh", `
compadd() { print -r -- "$@"; }
_files() { print files; }
complete_words() { words=(mcpwright "$@"); CURRENT=$#words; _mcpwright; }
complete_words call kitchen or
complete_words call kitchen order di
complete_words call nothing ""
`)
	require.Contains(t, out, "-l -d shown -- order\n-S  -l -d openshown -- dish=\nfiles\n")
}

// TestInteractiveZsh presses the Tab key in a zsh with its completion system.
func TestInteractiveZsh(t *testing.T) {
	out := runScript(t, "zsh", `
zmodload zsh/zpty || { print no zpty; exit 0 }
zpty shell zsh -f -i
type_keys() { zpty -w -n shell "$1"; }
await() {
	local all part
	repeat 600 {
		while zpty -r -t shell part; do all+=$part; done
		[[ $all == *$1* ]] && { print "found $1"; return }
		sleep 0.05
	}
	print -r -- "no $1 in ${(V)all}"
}
type_keys $'PS1= RPROMPT=; autoload -Uz compinit; compinit -u -D; source <(mcpwright completion zsh); print rea\'\'dy\n'
await ready
type_keys $'mcpwright call kitchen or\t'
await "kitchen order"
type_keys $' di\t'
await "dish="
zpty -d shell
`)
	if strings.Contains(out, "no zpty") {
		t.Skip("zsh has no pseudo terminals")
	}
	require.Equal(t, "found ready\nfound kitchen order\nfound dish=\n", out)
}

func TestFishCompletion(t *testing.T) {
	out := runScript(t, "fish", `
complete -C "mcpwright call kitchen or"
complete -C "mcpwright call kitchen order di"
`)
	require.Equal(t, "order\tOrders a dish.\ndish=\twhat to cook\n", out)
}
