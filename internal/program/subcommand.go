package program

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Subcommand is something else that a program does if its command line begins with a word. The program
// carries it out.
type Subcommand struct {
	Name   string
	Args   string // what may follow the word
	Help   string // a line, without a dot at its end
	Detail string // what the help of the command says besides
}

func (c *Subcommand) usage() string { return strings.TrimSpace(c.Name + " " + c.Args) }

// Subcommands are those of a program.
type Subcommands []Subcommand

// List returns a part of the help of the program, with a line for each.
func (all Subcommands) List() string {
	width := 0
	for i := range all {
		width = max(width, len(all[i].usage()))
	}
	text := "\n\nCommands, as the first word:\n\n"
	for i := range all {
		text += fmt.Sprintf("  %-*s  %s\n", width, all[i].usage(), all[i].Help)
	}
	return text
}

// Help returns the help of the command with which the command line of a program begins; empty if the
// command line does not ask for it.
func (all Subcommands) Help(program string, args []string) string {
	if !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
		return ""
	}
	i := slices.IndexFunc(all, func(c Subcommand) bool { return c.Name == args[0] })
	if i < 0 {
		return ""
	}
	c := &all[i]
	return fmt.Sprintf("Usage: %s %s\n\n%s.\n\n%s\n", program, c.usage(), c.Help, c.Detail)
}

// PrintHelp prints the help of a command of a program, and returns the exit code.
func PrintHelp(name, text string) int {
	if _, err := os.Stdout.WriteString(text); err != nil {
		return (&Errors{W: os.Stderr, Name: name}).Fail(ExitUsage, err)
	}
	return ExitOK
}
