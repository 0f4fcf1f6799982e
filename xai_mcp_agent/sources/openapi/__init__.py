"""Operations of OpenAPI services as tools."""
