package main

import (
	"embed"
	"io/fs"

	"github.com/mcpwright/mcp/runtime/mcpserver"
)

//go:embed skills
var skillFiles embed.FS

// addSkills publishes the skills.
func addSkills(s *mcpserver.Server) {
	dir, err := fs.Sub(skillFiles, "skills")
	if err == nil {
		err = s.AddSkills(dir, nil)
	}
	if err != nil {
		panic(err) // the files are part of this program
	}
}
