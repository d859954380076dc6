package sandbox

import (
	"context"
	"fmt"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// engine is a wazero runtime with what guests may import. The memory limit
// belongs to the runtime, so there is one for each distinct limit; compiled
// code is shared between them through the sandbox's cache.
type engine struct {
	runtime wazero.Runtime
	// offers are the functions that a guest may import, by module and name.
	offers map[string]map[string]api.FunctionDefinition
}

// engine returns the engine for a limit of pages.
func (s *Sandbox) engine(ctx context.Context, pages uint32) (*engine, error) {
	return s.engines.get(ctx, pages, func() (*engine, error) {
		config := wazero.NewRuntimeConfig()
		if s.tested.interpreted {
			config = wazero.NewRuntimeConfigInterpreter()
		}
		e, err := newEngine(context.WithoutCancel(ctx), config.WithCompilationCache(s.cache).WithMemoryLimitPages(pages))
		if err != nil {
			return nil, fmt.Errorf("sandbox: preparing a runtime: %w", err)
		}
		return e, nil
	})
}

func newEngine(ctx context.Context, config wazero.RuntimeConfig) (*engine, error) {
	e := &engine{
		runtime: wazero.NewRuntimeWithConfig(ctx, config.
			WithCoreFeatures(api.CoreFeaturesV2).
			WithDebugInfoEnabled(false)),
		offers: make(map[string]map[string]api.FunctionDefinition),
	}
	wasi, err := wasi_snapshot_preview1.NewBuilder(e.runtime).Compile(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.offer(ctx, wasi_snapshot_preview1.ModuleName, wasi); err != nil {
		return nil, err
	}
	pawl, err := hostModule(e.runtime.NewHostModuleBuilder(abi.Module)).Compile(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.offer(ctx, abi.Module, pawl); err != nil {
		return nil, err
	}
	_, err = lookModule(e.runtime.NewHostModuleBuilder(workModule)).Instantiate(ctx)
	return e, err
}

// offer lets guests import what the host module exports.
func (e *engine) offer(ctx context.Context, name string, module wazero.CompiledModule) error {
	e.offers[name] = module.ExportedFunctions()
	_, err := e.runtime.InstantiateModule(ctx, module, wazero.NewModuleConfig())
	return err
}

// compile makes a panic of wazero, which an odd module may find, an error.
func (e *engine) compile(ctx context.Context, wasm []byte) (compiled wazero.CompiledModule, err error) {
	err = protect(func() (err error) {
		compiled, err = e.runtime.CompileModule(ctx, wasm)
		return err
	})
	return compiled, err
}
