{
  description = "haft, a coding agent in which every customization is an extension";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      inherit (nixpkgs) lib;
      systems = [
        "aarch64-darwin"
        "aarch64-linux"
        "x86_64-darwin"
        "x86_64-linux"
      ];
      eachSystem = build: lib.genAttrs systems (system: build nixpkgs.legacyPackages.${system});
    in
    {
      packages = eachSystem (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "haft";
          version = (lib.importTOML ./Cargo.toml).workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [
            "--package"
            "haft"
          ];
          # The tests start programs in Python, Node and shell: `cargo xtask ci` runs them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = lib.optionalString (pkgs.stdenv.buildPlatform.canExecute pkgs.stdenv.hostPlatform) ''
            $out/bin/haft man > haft.1
            installManPage haft.1
            installShellCompletion --cmd haft \
              --bash <($out/bin/haft completions bash) \
              --fish <($out/bin/haft completions fish) \
              --zsh <($out/bin/haft completions zsh)
          '';
          meta = {
            description = "Coding agent for the terminal in which every customization is an extension";
            license = with lib.licenses; [
              asl20
              mit
            ];
            mainProgram = "haft";
          };
        };
      });
    };
}
