package docs

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"testing/fstest"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/skills"
)

// shop returns a server with the skills in a folder.
func shop(info mcp.Implementation) (*mcpserver.Server, error) {
	server := mcpserver.New(info, nil)
	if err := skills.Add(server, os.DirFS("skills"), nil); err != nil {
		return nil, err
	}
	return server, nil
}

// replaceSkills publishes changed skills, and removes one.
func replaceSkills(server *mcpserver.Server) error {
	skills.Remove(server, "skill://refunds/SKILL.md")
	return skills.Add(server, os.DirFS("skills"), nil)
}

// The client lists skills, loads one, and reads one of its files.
func Example_skills() {
	ctx := context.Background()
	server := mcpserver.New(mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	err := skills.Add(server, fstest.MapFS{
		"refunds/SKILL.md":           {Data: []byte("---\nname: refunds\ndescription: Refunds a payment.\n---\nWrite to the customer with templates/email.md.\n")},
		"refunds/templates/email.md": {Data: []byte("Your payment has been refunded.")},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for entry, err := range skills.List(ctx, client) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", entry.Frontmatter.Name, entry.Frontmatter.Description)
		skill, err := skills.Load(ctx, client, entry)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(skill.Files())
		text, err := skill.ReadFile(ctx, "templates/email.md")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", text)
	}
	// Output:
	// refunds: Refunds a payment.
	// [SKILL.md templates/email.md]
	// Your payment has been refunded.
}

// loadCurrent loads a skill. If the skill has changed, it loads the current one.
func loadCurrent(ctx context.Context, client *mcpclient.Client, entry *skills.Skill) (*skills.Loaded, error) {
	skill, err := skills.Load(ctx, client, entry)
	if e, ok := errors.AsType[*skills.Error](err); ok && e.Problem == skills.ProblemMismatch {
		log.Printf("%s has changed", e.File)
		if entry, err = skills.Get(ctx, client, entry.URI); err == nil {
			skill, err = skills.Load(ctx, client, entry) // after the user has approved the new files
		}
	}
	return skill, err
}

// listDirectory prints the files and directories in a directory.
func listDirectory(ctx context.Context, client *mcpclient.Client) error {
	for child, err := range skills.ReadDirectory(ctx, client, "skill://refunds/templates") {
		if err != nil {
			return err
		}
		fmt.Println(child.Name, child.MIMEType)
	}
	return nil
}

var _, _, _, _ = shop, replaceSkills, loadCurrent, listDirectory
