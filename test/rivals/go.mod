module github.com/gorosbag/gorosbag/test/rivals

go 1.26.0

require (
	github.com/foxglove/go-rosbag v0.0.7
	github.com/gorosbag/gorosbag v0.0.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/dsnet/compress v0.0.2-0.20230904184137-39efe44ab707 // indirect
	github.com/klauspost/compress v1.20.1 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/gorosbag/gorosbag => ../..
