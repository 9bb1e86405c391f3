package info

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// row is one line of the text: a key, empty on continuation lines, and a value.
type row struct{ key, value string }

// WriteText writes the summary as rosbag info prints it, byte for byte, with start and end in local time.
// The repeated messages, notes and marks of the bag follow. Control characters in names, which rosbag
// info sends to the terminal, are escaped.
func (i *Info) WriteText(w io.Writer) error {
	rows := []row{{"path", wording.Escape(i.Path)}, {"version", i.version()}}
	rows = append(rows, i.mcapRows()...)
	if i.empty() {
		rows = append(rows, row{"size", byteSize(float64(i.Size))})
	} else {
		rows = append(rows, i.timeRows()...)
		rows = append(rows, row{"size", byteSize(float64(i.Size))}, row{"messages", fmt.Sprint(i.Messages)})
		rows = append(rows, i.compressionRows()...)
		if i.Sampled > 0 {
			rows = append(rows,
				row{
					"estimated",
					fmt.Sprintf("compression, rates and bytes, from %d of %d chunks; --exact reads all",
						i.Sampled, i.Chunks),
				})
		}
		if e := i.Encryption; e != nil {
			rows = append(rows, row{"encryption", wording.Escape(e.Encryptor)},
				row{"GPG key user", wording.Escape(e.User)})
		}
		rows = append(rows, i.typeRows()...)
		rows = append(rows, i.topicRows()...)
	}
	width, size := 0, 0
	for _, r := range rows {
		width, size = max(width, len(r.key)+1), size+len(r.value)
	}
	var b strings.Builder
	b.Grow(size + len(rows)*(width+2))
	blank := strings.Repeat(" ", width)
	for _, r := range rows {
		if r.key != "" {
			r.key += ":"
		}
		b.WriteString(r.key)
		b.WriteString(blank[len(r.key):])
		b.WriteByte(' ')
		b.WriteString(r.value)
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, strings.TrimRightFunc(b.String(), unicode.IsSpace)+"\n"+i.noteText())
	return err
}

// mcapRows returns the rows about what MCAP files have beside messages.
func (i *Info) mcapRows() []row {
	if i.MCAP == nil {
		return nil
	}
	var attachments, metadata []row
	for _, x := range i.MCAP.Attachments {
		attachments = append(attachments,
			row{"", fmt.Sprintf("%s (%s, %s)", wording.Escape(x.Name), wording.Escape(x.Type),
				byteSize(float64(x.Bytes)))})
	}
	for _, x := range i.MCAP.Metadata {
		metadata = append(metadata,
			row{"", fmt.Sprintf("%s (%s)", wording.Escape(x.Name), byteSize(float64(x.Bytes)))})
	}
	return slices.Concat(
		[]row{{"profile", wording.Escape(i.MCAP.Profile)}, {"library", wording.Escape(i.MCAP.Library)}},
		titled("attachments", attachments), titled("metadata", metadata))
}

// version returns the version, and whether an index is missing, as rosbag info does for version 1.2. Older
// versions never have an index.
func (i *Info) version() string {
	if !i.Indexed && (i.Version == "1.2" || i.hasChunks()) {
		return i.Version + " (unindexed)"
	}
	return i.Version
}

// empty reports whether nothing but the size of the file is known.
func (i *Info) empty() bool { return i.Chunks == 0 && len(i.Connections) == 0 }

// duration returns the duration in seconds. rosbag info shows the time from the first chunk to the last
// one, even if others have earlier or later messages: that differs from where -s begins, in rosbag and
// here.
func (i *Info) duration() float64 { return seconds(i.End) - seconds(i.Start) }

func (i *Info) timeRows() []row {
	d := i.duration()
	secs := math.Mod(d, 60)
	mins := int(d / 60)
	hours := mins / 60
	text := fmt.Sprintf("%.1fs", d)
	switch {
	case hours > 0:
		text = fmt.Sprintf("%dhr %d:%02ds (%ds)", hours, mins%60, int(secs), int(d))
	case mins > 0:
		text = fmt.Sprintf("%d:%02ds (%ds)", mins, int(secs), int(d))
	}
	if i.Elapsed {
		const since = "%.2fs after the start of the recording"
		return []row{
			{"duration", text},
			{"start", fmt.Sprintf(since, seconds(i.Start))},
			{"end", fmt.Sprintf(since, seconds(i.End))},
		}
	}
	return []row{{"duration", text}, {"start", stamp(i.Start)}, {"end", stamp(i.End)}}
}

// stamp formats a time as rosbag info does: hundredths are rounded by themselves, without a carry.
func stamp(t rosbag.Time) string {
	s := seconds(t)
	whole := math.Floor(s)
	local := time.Unix(int64(whole), 0).Local().Format("Jan 02 2006 15:04:05")
	return fmt.Sprintf("%s%s (%.2f)", local, fmt.Sprintf("%.2f", s-whole)[1:], s)
}

func (i *Info) compressionRows() []row {
	if i.Converted {
		return nil
	}
	if i.Chunks == 0 {
		return []row{{"compression", "none"}}
	}
	var list []string
	var stored, unpacked int64
	packed := false
	for _, p := range i.Compression {
		stored += p.StoredBytes
		unpacked += p.UncompressedBytes
		text := fmt.Sprintf("%s [%d/%d chunks]", wording.Escape(string(p.Name)), p.Chunks, i.Chunks)
		if p.Name != rosbag.CompressionNone {
			packed = true
			text = fmt.Sprintf("%s [%d/%d chunks; %.2f%%]", wording.Escape(string(p.Name)), p.Chunks,
				i.Chunks, percent(p.StoredBytes, p.UncompressedBytes))
		}
		list = append(list, text)
	}
	rows := []row{{"compression", strings.Join(list, ", ")}}
	if !packed {
		return rows
	}
	size := []string{byteSize(float64(unpacked)), byteSize(float64(stored))}
	width := max(len(size[0]), len(size[1]))
	d := i.duration()
	if d <= 0 {
		return append(rows,
			row{"uncompressed", fmt.Sprintf("%*s", width, size[0])},
			row{"compressed", fmt.Sprintf("%*s", width, size[1])})
	}
	rate := []string{byteSize(float64(unpacked) / d), byteSize(float64(stored) / d)}
	rateWidth := max(len(rate[0]), len(rate[1]))
	return append(rows,
		row{"uncompressed", fmt.Sprintf("%*s @ %*s/s", width, size[0], rateWidth, rate[0])},
		row{
			"compressed",
			fmt.Sprintf("%*s @ %*s/s (%.2f%%)", width, size[1], rateWidth, rate[1],
				percent(stored, unpacked)),
		})
}

func percent(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// typeName is a type and its checksum.
type typeName struct{ name, md5 string }

// noSchema stands for the type of a channel without a schema.
const noSchema = "(no schema)"

// typeOf returns the type of a connection. Of a channel of another program it is the schema, with the
// encoding of the messages in place of a checksum.
func typeOf(h rosbag.Header) typeName {
	if encoding, ok := h.Get(rosbag.KeyMCAPEncoding); ok {
		return typeName{cmp.Or(h.Type(), noSchema), encoding}
	}
	return typeName{h.Type(), h.MD5Sum()}
}

// types lists each type once, with the checksum of its first connection.
func (i *Info) types() []typeName {
	var list []typeName
	known := make(map[string]bool)
	for _, c := range i.Connections {
		if name := typeOf(c.Header); !known[name.name] {
			known[name.name] = true
			list = append(list, name)
		}
	}
	slices.SortFunc(list, func(a, b typeName) int { return cmp.Compare(a.name, b.name) })
	return list
}

func (i *Info) typeRows() []row {
	list := i.types()
	width := 0
	for _, t := range list {
		width = max(width, utf8.RuneCountInString(wording.Escape(t.name)))
	}
	var rows []row
	for _, t := range list {
		rows = append(rows,
			row{"", fmt.Sprintf("%-*s [%s]", width, wording.Escape(t.name), wording.Escape(t.md5))})
	}
	return titled("types", rows)
}

func (i *Info) topicRows() []row {
	var nameWidth, typeWidth, countWidth, rateWidth int
	rates := make([]string, len(i.Topics))
	for n, t := range i.Topics {
		if t.Frequency > 0 {
			rates[n] = hertz(t.Frequency)
		}
		nameWidth = max(nameWidth, utf8.RuneCountInString(wording.Escape(t.Name)))
		countWidth = max(countWidth, len(fmt.Sprint(t.Messages)))
		rateWidth = max(rateWidth, len(rates[n]))
	}
	for _, c := range i.Connections {
		typeWidth = max(typeWidth, utf8.RuneCountInString(wording.Escape(c.Header.Type())))
	}
	rows := make([]row, 0, len(i.Topics))
	for n := range i.Topics {
		t := &i.Topics[n]
		unit, at := "msgs", " @ "
		if t.Messages <= 1 {
			unit = "msg "
		}
		if rates[n] == "" {
			at = "   "
		}
		kind := t.Type
		if kind == "" && i.MCAP != nil {
			kind = noSchema
		}
		s := fmt.Sprintf("%-*s   %*d %s%s%*s : %-*s", nameWidth, wording.Escape(t.Name), countWidth,
			t.Messages, unit,
			at, rateWidth, rates[n], typeWidth, wording.Escape(kind))
		if t.Connections > 1 {
			s += fmt.Sprintf(" (%d connections)", t.Connections)
		}
		rows = append(rows, row{"", s})
	}
	return titled("topics", rows)
}

// titled gives the first of rows a key.
func titled(key string, rows []row) []row {
	if len(rows) > 0 {
		rows[0].key = key
	}
	return rows
}

// byteSize formats a number of bytes with one decimal, in units from KB on.
func byteSize(n float64) string {
	for _, unit := range []string{"KB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"} {
		if n /= 1024; n < 1024 {
			return fmt.Sprintf("%.1f %s", n, unit)
		}
	}
	return "-"
}

func hertz(f float64) string {
	for _, unit := range []string{"Hz", "kHz", "MHz", "GHz"} {
		if f < 1000 {
			return fmt.Sprintf("%.1f %s", f, unit)
		}
		f /= 1000
	}
	return "-"
}
