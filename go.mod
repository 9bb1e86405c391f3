module github.com/gorosbag/gorosbag

go 1.26.0

require (
	github.com/alecthomas/kong v1.17.0
	github.com/aler9/goroslib v1.2.0
	github.com/dsnet/compress v0.0.2-0.20230904184137-39efe44ab707
	github.com/dustin/go-humanize v1.1.0
	github.com/google/go-cmp v0.7.0
	github.com/pierrec/lz4/v4 v4.1.33
	go.uber.org/goleak v1.3.0
	go.uber.org/zap v1.28.0
	golang.org/x/sys v0.49.0
	golang.org/x/term v0.47.0
)

require (
	github.com/gookit/color v1.5.2 // indirect
	github.com/xo/terminfo v0.0.0-20210125001918-ca9a967f8778 // indirect
	go.uber.org/multierr v1.10.0 // indirect
)
