package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// printJSON prints one JSON document.
func (e *environment) printJSON(v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = e.out.Write(append(data, '\n'))
	return err
}

// failed returns the error of a request to the server. With -json it prints it as a document.
func (e *environment) failed(c *connection, what string, err error) error {
	wrapped := fmt.Errorf("%s: %w", what, err)
	if !c.json {
		return wrapped
	}
	type document struct {
		Code    int64           `json:"code,omitempty"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	doc := document{Message: err.Error()}
	if p, ok := errors.AsType[*peer.Error](err); ok {
		doc = document{p.Code, p.Message, p.Data}
	}
	if err := e.printJSON(map[string]document{"error": doc}); err != nil {
		return err
	}
	return &reportedError{wrapped}
}

// printContent prints a part of a result. Images, sounds and other bytes are saved as files.
func (e *environment) printContent(files *saver, block mcp.ContentBlock) error {
	switch b := block.(type) {
	case *mcp.TextContent:
		e.out.Paragraph("", b.Text)
	case *mcp.ImageContent:
		return e.saved(files, "image", b.MIMEType, b.Data)
	case *mcp.AudioContent:
		return e.saved(files, "audio", b.MIMEType, b.Data)
	case *mcp.ResourceLink:
		e.out.Printf("%s  %s\n", b.URI, strings.TrimSpace(b.Name+"  "+b.Description))
	case *mcp.EmbeddedResource:
		return e.printResource(files, b.Resource)
	default:
		return e.printJSON(block)
	}
	return nil
}

// printResource prints the contents of a resource.
func (e *environment) printResource(files *saver, contents mcp.ResourceContents) error {
	switch c := contents.(type) {
	case *mcp.TextResourceContents:
		e.out.Paragraph("", c.Text)
	case *mcp.BlobResourceContents:
		return e.saved(files, "resource", c.MIMEType, c.Blob)
	default:
		return e.printJSON(contents)
	}
	return nil
}

// saved saves bytes in a file and prints its path.
func (e *environment) saved(files *saver, kind, mimeType string, data []byte) error {
	path, err := files.save(kind, mimeType, data)
	if err != nil {
		return err
	}
	e.out.Printf("[%s %s, %d bytes: %s]\n", kind, mimeType, len(data), path)
	return nil
}

// saver saves the bytes of results in new files of a folder.
type saver struct {
	dir   string // "" for a new folder
	count int
}

func (s *saver) save(kind, mimeType string, data []byte) (string, error) {
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "mcpwright-")
		if err != nil {
			return "", fmt.Errorf("save %s: %w", kind, err)
		}
		s.dir = dir
	}
	for {
		s.count++
		path := filepath.Join(s.dir, fmt.Sprintf("%s-%d%s", kind, s.count, extension(mimeType)))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err == nil {
			_, err = f.Write(data)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return "", fmt.Errorf("save %s: %w", kind, err)
		}
		return path, nil
	}
}

// extension returns the extension of files of a type. The name of a type comes from the server.
func extension(mimeType string) string {
	switch kind, _, _ := mime.ParseMediaType(mimeType); kind {
	case "image/png":
		return ".png"
	case "image/jpeg":
		return ".jpg"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	case "image/svg+xml":
		return ".svg"
	case "audio/wav", "audio/x-wav":
		return ".wav"
	case "audio/mpeg":
		return ".mp3"
	case "audio/ogg":
		return ".ogg"
	case "application/pdf":
		return ".pdf"
	case "application/json":
		return ".json"
	case "text/html":
		return ".html"
	}
	return ".bin"
}
