package interop

// sdks are those that meet.
var sdks = []sdk{
	{"mcpwright", ourStdio, ourHandler, ourCommand, ourURL},
	{"go-sdk", goStdio, goHandler, goCommand, goURL},
}
