// Package skills publishes and reads skills with the extension "io.modelcontextprotocol/skills".
//
// A skill is a directory with a file SKILL.md, which describes how a model does some work, and with
// the files that this work needs.
//
// # Servers
//
// [Add] publishes the skills in a file system:
//
//	server := mcpserver.New(info, nil)
//	err := skills.Add(server, os.DirFS("skills"), nil)
//
// # Clients
//
// [List] lists the skills of a server, [Load] checks and reads one, and [Loaded.ReadFile] reads its
// files and compares them with the entry of the skill:
//
//	for entry, err := range skills.List(ctx, client) {
//		...
//		skill, err := skills.Load(ctx, client, entry)
//		...
//		text, err := skill.ReadFile(ctx, "templates/email.md")
//	}
package skills

import generated "github.com/mcpwright/mcp/generated/skills"

// Name identifies the extension.
const Name = generated.Name

// Skill is the entry of a skill: the URI of its SKILL.md file, its front matter, and its files with
// their digests. It is a type of package generated/skills, which also has the messages.
type Skill = generated.Skill
