package config

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
)

// ManFlag is an option that prints the manual page of the program and ends it.
type ManFlag bool

// BeforeReset is called by kong when the option is there.
func (ManFlag) BeforeReset(app *kong.Kong) error {
	if err := writeMan(app.Stdout, app.Model); err != nil {
		return err
	}
	app.Exit(0)
	return nil
}

// VersionFlag is an option that prints the version of the program, which kong knows as the variable
// version, and ends it. Unlike kong's own VersionFlag, it fails if the version cannot be written.
type VersionFlag bool

// BeforeReset is called by kong when the option is there.
func (VersionFlag) BeforeReset(app *kong.Kong, vars kong.Vars) error {
	if _, err := fmt.Fprintln(app.Stdout, vars["version"]); err != nil {
		return err
	}
	app.Exit(0)
	return nil
}

// writeMan writes a manual page in the language of man(7).
func writeMan(w io.Writer, app *kong.Application) error {
	b := &roff{}
	b.request("TH", strings.ToUpper(app.Name), "1", buildDate(), "gorosbag", "")
	summary, rest, _ := strings.Cut(app.Help, "\n")
	b.request("SH", "NAME")
	b.text(app.Name + " - " + strings.TrimSuffix(lowerFirst(summary), "."))
	b.request("SH", "SYNOPSIS")
	b.synopsis(app.Node)
	b.request("SH", "DESCRIPTION")
	b.text(summary)
	b.paragraphs(rest)
	b.request("SH", "OPTIONS")
	b.arguments(app.Node)
	b.flags(app.Node, "SS")
	for _, c := range app.Children {
		if c.Hidden {
			continue
		}
		b.request("SH", strings.ToUpper(c.Name))
		b.synopsis(c)
		b.request("PP")
		b.text(c.Help)
		b.paragraphs(c.Detail)
		b.arguments(c)
		b.flags(c, "SS")
	}
	b.request("SH", "SEE ALSO")
	b.text(seeAlso(app.Name))
	_, err := io.WriteString(w, b.out.String())
	return err
}

// buildDate returns the date of the commit from which the program was built; empty if it is not known.
func buildDate() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if day, _, ok := strings.Cut(s.Value, "T"); ok && s.Key == "vcs.time" {
				return day
			}
		}
	}
	return ""
}

func seeAlso(self string) string {
	var others []string
	for _, name := range []string{"gobag", "gomaster", "goplay", "gorecord"} {
		if name != self {
			others = append(others, name+"(1)")
		}
	}
	return strings.Join(others, ", ")
}

// group is the options under one heading.
type group struct {
	title string
	flags []*kong.Flag
}

// groupsOf returns the options in groups, in the order of the help. Options without a group come first.
func groupsOf(flags []*kong.Flag) []group {
	groups := []group{{}}
	at := map[string]int{"": 0}
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		title := ""
		if f.Group != nil {
			title = strings.TrimSuffix(f.Group.Title, ":")
		}
		i, ok := at[title]
		if !ok {
			i = len(groups)
			at[title] = i
			groups = append(groups, group{title: title})
		}
		groups[i].flags = append(groups[i].flags, f)
	}
	if len(groups[0].flags) == 0 {
		return groups[1:]
	}
	return groups
}

// usage returns an option as it is written, such as "-x, --exclude=REGEX".
func usage(f *kong.Flag) string {
	s := "--" + f.Name
	if f.Short != 0 {
		s = "-" + string(f.Short) + ", " + s
	}
	switch {
	case f.IsBool() && f.PlaceHolder != "":
		s += "[=" + f.PlaceHolder + "]"
	case !f.IsBool():
		s += "=" + f.FormatPlaceHolder()
	}
	return s
}

// roff builds a manual page.
type roff struct{ out strings.Builder }

// request writes a line that begins with a dot.
func (b *roff) request(name string, args ...string) {
	b.out.WriteString("." + name)
	for _, a := range args {
		b.out.WriteString(` "` + strings.ReplaceAll(escape(a), `"`, `\(dq`) + `"`)
	}
	b.out.WriteByte('\n')
}

// text writes a line of text. A dot or a quote at its beginning is escaped: the line would be a request.
func (b *roff) text(s string) {
	s = escape(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	b.out.WriteString(s + "\n")
}

func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
}

// indented matches a line of an example.
var indented = lazyre.New(`^\s`)

// paragraphs writes text with empty lines between its paragraphs, and with examples
// that are indented.
func (b *roff) paragraphs(s string) {
	for part := range strings.SplitSeq(s, "\n\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		b.request("PP")
		example := indented().MatchString(strings.TrimLeft(part, "\n"))
		if example {
			b.request("nf")
		}
		for line := range strings.SplitSeq(strings.Trim(part, "\n"), "\n") {
			b.text(strings.TrimRight(line, " "))
		}
		if example {
			b.request("fi")
		}
	}
}

func (b *roff) synopsis(n *kong.Node) {
	words := n.FullPath()
	if len(n.Flags) > 0 {
		words += " [OPTIONS]"
	}
	for _, p := range n.Positional {
		words += " " + p.Summary()
	}
	if len(n.Children) > 0 {
		words += " COMMAND [ARGUMENTS]"
	}
	b.text(words)
}

func (b *roff) arguments(n *kong.Node) {
	for _, p := range n.Positional {
		if p.Help != "" {
			b.request("TP")
			b.request("B", p.Summary())
			b.text(p.Help)
		}
	}
}

func (b *roff) flags(n *kong.Node, heading string) {
	for _, g := range groupsOf(n.Flags) {
		if g.title != "" {
			b.request(heading, g.title)
		}
		for _, f := range g.flags {
			b.request("TP")
			b.request("B", usage(f))
			b.text(f.Help)
		}
	}
}

func lowerFirst(s string) string {
	if len(s) < 2 || s[1] < 'a' {
		return s // such as ROS
	}
	return strings.ToLower(s[:1]) + s[1:]
}
