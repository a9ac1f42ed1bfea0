package main

import (
	"embed"
	"io/fs"

	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/skills"
)

//go:embed skills
var skillFiles embed.FS

// addSkills publishes the skills.
func addSkills(s *mcpserver.Server) {
	dir, err := fs.Sub(skillFiles, "skills")
	if err == nil {
		err = skills.Add(s, dir, nil)
	}
	if err != nil {
		panic(err) // the files are part of this program
	}
}
