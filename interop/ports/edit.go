package main

import (
	"fmt"
	"slices"
	"strings"
)

// edit applies a script in the format of "diff -e" to a text. A script contains line numbers and new
// lines, but no lines of the text. The commands are ordered from the last line to the first. For each
// command, the larger number of its removed and its new lines counts as changed. The script of a new
// file appends to line 0.
func edit(text, script string) (edited string, changed int, err error) {
	lines := strings.SplitAfter(text, "\n")
	commands := strings.SplitAfter(script, "\n")
	for len(commands) > 0 && commands[0] != "" {
		command := strings.TrimSpace(commands[0])
		first, last, kind, err := parseCommand(command)
		if err != nil {
			return "", 0, err
		}
		if isNew := text == "" && kind == 'a'; first < 1 && !isNew || last < first || last > len(lines) {
			return "", 0, fmt.Errorf("the lines of %q do not exist", command)
		}
		commands = commands[1:]
		var added []string
		if kind != 'd' {
			end := slices.Index(commands, ".\n")
			if end < 0 {
				return "", 0, fmt.Errorf("the lines after %q have no end", command)
			}
			added, commands = commands[:end], commands[end+1:]
		}
		begin := first - 1
		if kind == 'a' {
			begin, last = first, first
		}
		changed += max(last-begin, len(added))
		lines = slices.Replace(lines, begin, last, added...)
	}
	return strings.Join(lines, ""), changed, nil
}

// parseCommand parses a command: a line or two, and "a", "c" or "d".
func parseCommand(command string) (first, last int, kind byte, err error) {
	if _, err := fmt.Sscanf(command, "%d,%d%c", &first, &last, &kind); err != nil {
		if _, err := fmt.Sscanf(command, "%d%c", &first, &kind); err != nil {
			return 0, 0, 0, fmt.Errorf("invalid command %q", command)
		}
		last = first
	}
	if !strings.ContainsRune("acd", rune(kind)) {
		return 0, 0, 0, fmt.Errorf("invalid command %q", command)
	}
	return first, last, kind, nil
}
